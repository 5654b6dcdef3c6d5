/** Gathers letters and writes them to the store in steps: large enough to be fast, small enough for memory. */
import { hash } from "node:crypto";
import type { Engine, ImportReport } from "../../engine.ts";
import { importedLetter } from "../../item/imported-letter.ts";
import type { Letter } from "../../item/letter.ts";
import type { ImportJobs } from "./import-jobs.ts";
import type { FoundLetter } from "./letters-of.ts";

const LETTERS_MAX = 500;
const BYTES_MAX = 8 * 1024 * 1024;

export class ImportBatch {
  readonly #engine: Engine;
  readonly #jobs: ImportJobs;
  readonly #look: DryLook | null;
  #letters = new Map<string, Letter[]>();
  #count = 0;
  #bytes = 0;
  #report: ImportReport = { imported: 0, extended: 0, existing: 0 };

  constructor(engine: Engine, jobs: ImportJobs, isDry: boolean) {
    this.#engine = engine;
    this.#jobs = jobs;
    this.#look = isDry ? new DryLook(engine) : null;
  }

  get report(): ImportReport {
    return this.#report;
  }

  /** True when it is full. */
  add({ letter, bytes }: FoundLetter): boolean {
    const waiting = this.#letters.get(letter.jobId);
    if (waiting === undefined) this.#letters.set(letter.jobId, [letter]);
    else waiting.push(letter);
    this.#count += 1;
    this.#bytes += bytes;
    return this.#count >= LETTERS_MAX || this.#bytes >= BYTES_MAX;
  }

  /** One durable step for each job. */
  async flush(): Promise<void> {
    for (const [name, letters] of this.#letters) {
      const { jobId, isNew } = await this.#jobs.open(name);
      const report = this.#look
        ? await this.#look.at(isNew ? null : jobId, name, letters)
        : await this.#engine.importLetters(jobId, letters);
      this.#jobs.count(name, report);
      this.#report = sum(this.#report, report);
    }
    this.#letters = new Map();
    this.#count = 0;
    this.#bytes = 0;
  }
}

function sum(one: ImportReport, other: ImportReport): ImportReport {
  return {
    imported: one.imported + other.imported,
    extended: one.extended + other.extended,
    existing: one.existing + other.existing,
  };
}

/** Says what would become of letters, by the rules of the store. */
class DryLook {
  readonly #engine: Engine;
  readonly #met = new Set<string>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** `queue` is null for a job that is not there. */
  async at(queue: string | null, name: string, letters: readonly Letter[]): Promise<ImportReport> {
    const report = { imported: 0, extended: 0, existing: 0 };
    for (const letter of letters) {
      const isFirst = this.#meet(name, letter.itemId);
      report[isFirst ? await this.#fateOf(queue, letter) : "existing"] += 1;
    }
    return report;
  }

  async #fateOf(queue: string | null, letter: Letter): Promise<keyof ImportReport> {
    if (queue === null) return "imported";
    const [item] = await this.#engine.findItems(letter.itemId, { queue, limit: 1 });
    if (item?.itemId !== letter.itemId) return "imported";
    if (item.state === "dead") {
      return item.attempts < importedLetter(letter).attempts.length ? "extended" : "existing";
    }
    const isPurged = item.state === "discarded" && (await this.#engine.readLetter(item.ref)) === null;
    return isPurged ? "imported" : "existing";
  }

  /** True the first time. A part of a hash stands for the id: a million of them have to fit. */
  #meet(name: string, itemId: string): boolean {
    const key = hash("sha256", `${name}\n${itemId}`, "base64").slice(0, 16);
    const isFirst = !this.#met.has(key);
    this.#met.add(key);
    return isFirst;
  }
}
