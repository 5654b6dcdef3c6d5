/** Imports letters in durable steps; invalid records are reported. A second import changes nothing. */

import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import type { Engine, ImportReport } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { idProblem } from "../../intake/identity.ts";
import { openInput } from "../../intake/input.ts";
import { importedLetter } from "../../item/imported-letter.ts";
import type { Job } from "../../item/job.ts";
import type { Letter } from "../../item/letter.ts";
import type { ImportFormat } from "./format.ts";
import { type FoundLetter, LetterReader } from "./imported-letters.ts";
import { readFile } from "./read-file.ts";
import { readFolder } from "./read-folder.ts";
import { isRefusal, placeText, type RawRecord, type Reading, type Refusal } from "./reading.ts";
import { receiptsJobOf } from "./receipt.ts";

export interface ImportOptions {
  /** The job of every letter. Default: the one it names, else that of its folder, else that of the file. */
  readonly job?: string;
  /** Default: detected. */
  readonly format?: ImportFormat;
  /** Reads everything but changes nothing. */
  readonly isDry?: boolean;
  /** The stream for `-`. Default: the process's stdin. */
  readonly stdin?: Readable;
  readonly onProgress?: (letters: number) => void;
  /** Aborting it stops reading. Letters read so far are imported; a second import adds the rest. */
  readonly signal?: AbortSignal;
}

/** The result of an import. */
export interface Imported {
  readonly imported: number;
  /** Existing letters that got additional attempts. */
  readonly extended: number;
  /** Existing letters that were left unchanged. */
  readonly existing: number;
  /** The first refused records. */
  readonly refused: readonly { readonly where: string; readonly why: string }[];
  readonly refusedCount: number;
  readonly jobs: readonly ImportedJob[];
  /** Unknown fields that were dropped; the first ones only. */
  readonly ignoredFields: readonly string[];
  /** Letters with an `error_signature` from another program, which is kept as `source_signature`. */
  readonly foreignSignatures: number;
}

/** Resolves when all valid letters are in the store. */
export async function importLetters(
  engine: Engine,
  path: string,
  options: ImportOptions = {},
): Promise<Imported> {
  if (options.job !== undefined) requireJobName(options.job);
  const receiptsJob = await receiptsJobOf(engine);
  const run = new ImportRun(engine, path, { ...options, receiptsJob, now: await engine.now() });
  for await (const readings of await readingsOf(path, options)) {
    for (const reading of readings) await run.take(reading);
    if (options.signal?.aborted) break;
  }
  return run.end();
}

function requireJobName(job: string): void {
  const problem = idProblem(job);
  if (problem !== undefined) throw new WorkError("usage", `The job name ${problem}.`);
}

const REFUSED_SHOWN_MAX = 100;

/** One import: turns records into letters, and writes these to the store in batches. */
class ImportRun {
  readonly #jobs: ImportJobs;
  readonly #batch: ImportBatch;
  readonly #reader: LetterReader;
  readonly #onProgress: (letters: number) => void;
  readonly #refused: { where: string; why: string }[] = [];
  #refusedCount = 0;
  #repeated = 0;
  #letters = 0;

  constructor(
    engine: Engine,
    source: string,
    options: ImportOptions & { readonly now: number; readonly receiptsJob: string },
  ) {
    const isDry = options.isDry ?? false;
    this.#jobs = new ImportJobs(engine, { source, isDry });
    this.#batch = new ImportBatch(engine, this.#jobs, isDry);
    this.#reader = new LetterReader({ ...options, defaultJob: jobNameOf(source) });
    this.#onProgress = options.onProgress ?? (() => undefined);
  }

  async take(reading: Reading): Promise<void> {
    if (isRefusal(reading)) this.#refuse(reading);
    else if (reading.isRepeated) this.#repeated += 1;
    else await this.#takeRecord(reading);
  }

  async #takeRecord(record: RawRecord): Promise<void> {
    for (const found of this.#reader.take(record)) await this.#keep(found);
  }

  async end(): Promise<Imported> {
    for (const found of this.#reader.rest()) await this.#keep(found);
    await this.#batch.flush();
    const { imported, extended, existing } = this.#batch.report;
    return {
      imported,
      extended,
      existing: existing + this.#repeated,
      refused: this.#refused,
      refusedCount: this.#refusedCount,
      jobs: this.#jobs.all,
      ignoredFields: [...this.#reader.unknownFields],
      foreignSignatures: this.#reader.foreignSignatures,
    };
  }

  async #keep(found: FoundLetter | Refusal): Promise<void> {
    if (isRefusal(found)) return this.#refuse(found);
    this.#letters += 1;
    if (!this.#batch.add(found)) return;
    await this.#batch.flush();
    this.#onProgress(this.#letters);
  }

  #refuse({ place, why }: Refusal): void {
    this.#refusedCount += 1;
    if (this.#refused.length < REFUSED_SHOWN_MAX) this.#refused.push({ where: placeText(place), why });
  }
}

async function readingsOf(
  path: string,
  { format, stdin = process.stdin }: ImportOptions,
): Promise<AsyncIterable<Iterable<Reading>>> {
  const isFolder = path !== "-" && ((await stat(path).catch(() => null))?.isDirectory() ?? false);
  if (isFolder || format === "directory") return readFolder(path);
  const { chunks, name } = await openInput(path, stdin); // reports an invalid path
  return readFile(chunks, name, format);
}

/** `receipts.json.gz` becomes `receipts`, so that letters without a job always go to the same one. */
function jobNameOf(path: string): string {
  if (path === "-") return "imported";
  return basename(path).replace(/(\.(json|jsonl|ndjson|csv))?(\.(gz|zst))?$/i, "") || "imported";
}

const LETTERS_MAX = 500;
const BYTES_MAX = 8 * 1024 * 1024;

export class ImportBatch {
  readonly #engine: Engine;
  readonly #jobs: ImportJobs;
  readonly #prediction: ImportPrediction | null;
  #letters = new Map<string, Letter[]>();
  #count = 0;
  #bytes = 0;
  #report: ImportReport = { imported: 0, extended: 0, existing: 0 };

  constructor(engine: Engine, jobs: ImportJobs, isDry: boolean) {
    this.#engine = engine;
    this.#jobs = jobs;
    this.#prediction = isDry ? new ImportPrediction(engine) : null;
  }

  get report(): ImportReport {
    return this.#report;
  }

  /** Returns true when the batch is full. */
  add({ letter, bytes }: FoundLetter): boolean {
    const waiting = this.#letters.get(letter.jobId);
    if (waiting === undefined) this.#letters.set(letter.jobId, [letter]);
    else waiting.push(letter);
    this.#count += 1;
    this.#bytes += bytes;
    return this.#count >= LETTERS_MAX || this.#bytes >= BYTES_MAX;
  }

  /** Writes one durable step per job. */
  async flush(): Promise<void> {
    for (const [name, letters] of this.#letters) {
      const { jobId, isNew } = await this.#jobs.open(name);
      const report = this.#prediction
        ? await this.#prediction.predict(isNew ? null : jobId, name, letters)
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

/** Predicts what the store would do with each letter. */
class ImportPrediction {
  readonly #engine: Engine;
  readonly #seen = new Set<string>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** `queue` is null if the job does not exist. */
  async predict(queue: string | null, name: string, letters: readonly Letter[]): Promise<ImportReport> {
    const report = { imported: 0, extended: 0, existing: 0 };
    for (const letter of letters) {
      const isFirst = this.#isFirst(name, letter.itemId);
      report[isFirst ? await this.#resultFor(queue, letter) : "existing"] += 1;
    }
    return report;
  }

  async #resultFor(queue: string | null, letter: Letter): Promise<keyof ImportReport> {
    if (queue === null) return "imported";
    const [item] = await this.#engine.findItems(letter.itemId, { queue, limit: 1 });
    if (item?.itemId !== letter.itemId) return "imported";
    if (item.state === "dead") {
      return item.attempts < importedLetter(letter).attempts.length ? "extended" : "existing";
    }
    const isPurged = item.state === "discarded" && (await this.#engine.readLetter(item.ref)) === null;
    return isPurged ? "imported" : "existing";
  }

  /** True the first time. Keeps a part of a hash, so that a million ids fit into memory. */
  #isFirst(name: string, itemId: string): boolean {
    const key = hash("sha256", `${name}\n${itemId}`, "base64").slice(0, 16);
    const isFirst = !this.#seen.has(key);
    this.#seen.add(key);
    return isFirst;
  }
}

/** A job, whether it was created by the import, and the numbers of its letters. */
export interface ImportedJob extends ImportReport {
  readonly jobId: string;
  readonly isNew: boolean;
}

export class ImportJobs {
  readonly #engine: Engine;
  readonly #source: string;
  readonly #isDry: boolean;
  readonly #jobs = new Map<string, ImportedJob>();

  constructor(engine: Engine, { source, isDry }: { readonly source: string; readonly isDry: boolean }) {
    this.#engine = engine;
    this.#source = source;
    this.#isDry = isDry;
  }

  /** The jobs that received letters, in order of their first letter. */
  get all(): readonly ImportedJob[] {
    return [...new Map([...this.#jobs.values()].map((job) => [job.jobId, job])).values()];
  }

  /** Finds the job by id or name, or creates it. */
  async open(name: string): Promise<ImportedJob> {
    const known = this.#jobs.get(name);
    if (known !== undefined) return known;
    const found = await this.#engine.findJob(name);
    if (found !== null) await this.#end(found);
    else if (!this.#isDry) await this.#create(name);
    const opened = { jobId: found?.id ?? name, isNew: found === null, imported: 0, extended: 0, existing: 0 };
    this.#jobs.set(name, opened);
    return opened;
  }

  count(name: string, report: ImportReport): void {
    const job = this.#jobs.get(name);
    if (job === undefined) return;
    this.#jobs.set(name, {
      ...job,
      imported: job.imported + report.imported,
      extended: job.extended + report.extended,
      existing: job.existing + report.existing,
    });
  }

  async #create(id: string): Promise<void> {
    const spec = { source: this.#source };
    try {
      await this.#end(await this.#engine.createJob({ id, name: id, kind: "imported", spec }));
    } catch (error) {
      // Another import may have created it at the same time.
      if (!(error instanceof WorkError) || error.code !== "job_changed") throw error;
    }
  }

  /** An imported job has nothing to run. A crash may have left a new one in the status running. */
  async #end({ id, kind, status }: Job): Promise<void> {
    if (kind !== "imported" || status !== "running" || this.#isDry) return;
    await this.#engine.changeJob(id, {
      status: "completed",
      intakeComplete: true,
      event: { type: "job_completed", data: { source: this.#source } },
    });
  }
}
