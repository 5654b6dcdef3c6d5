/**
 * Imports letters in durable steps and reports invalid records. Importing the same file again changes
 * nothing.
 */

import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { type Engine, type ImportReport, NOTHING_IMPORTED, sumOfReports } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { idProblem } from "../../intake/identity.ts";
import { openInput } from "../../intake/input.ts";
import { importedLetter } from "../../item/imported-letter.ts";
import type { Job } from "../../item/job.ts";
import type { Letter } from "../../item/letter.ts";
import { receiptsJobOf } from "./error-body.ts";
import { type FoundLetter, LetterReader } from "./imported-letters.ts";
import { readFile } from "./read-file.ts";
import { readFolder } from "./read-folder.ts";
import type { ImportFormat } from "./reading.ts";
import { isRefusal, locationText, type Reading, type Refusal } from "./reading.ts";

/** The job and format of an import. */
export interface ImportOptions {
  /**
   * The job that all letters are imported to. Default: the job named in each letter, otherwise the name of its folder or file.
   */
  readonly job?: string;
  /** Default: detected. */
  readonly format?: ImportFormat;
  readonly isDry?: boolean;
  /** The stream for `-`. Default: the process's stdin. */
  readonly stdin?: Readable;
  readonly onProgress?: (letters: number) => void;
  /** Aborting the signal stops reading. Letters read so far are imported; a second import adds the rest. */
  readonly signal?: AbortSignal;
}

/** The result of an import. */
export interface Imported {
  readonly imported: number;
  /** Existing letters that received additional attempts. */
  readonly extended: number;
  /** Existing letters that were left unchanged. */
  readonly existing: number;
  readonly refused: readonly { readonly where: string; readonly why: string }[];
  readonly refusedCount: number;
  readonly jobs: readonly ImportedJob[];
  /** Names of unknown fields that were dropped; only the first ones are listed. */
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
  const problem = options.job === undefined ? undefined : idProblem(options.job);
  if (problem !== undefined) throw new RedriveError("usage", `The job name ${problem}.`);
  const receiptsJob = await receiptsJobOf(engine);
  const run = new ImportRun(engine, path, { ...options, receiptsJob, now: await engine.now() });
  for await (const readings of await readingsOf(path, options)) {
    for (const reading of readings) await run.take(reading);
    if (options.signal?.aborted) break;
  }
  const report = await run.end();
  if (!options.isDry) await recordImport(engine, report);
  return report;
}

async function recordImport(engine: Engine, { jobs }: Imported): Promise<void> {
  for (const { jobId: queue, imported, extended } of jobs)
    if (imported + extended > 0)
      await engine.recordChange({ action: "letters_imported", queue, details: { imported, extended } });
}

const REFUSED_SHOWN_MAX = 100;
const LETTERS_MAX = 500;
const BYTES_MAX = 8 * 1024 * 1024;

type RunOptions = ImportOptions & { readonly now: number; readonly receiptsJob: string };
class ImportRun {
  readonly #engine: Engine;
  readonly #source: string;
  readonly #options: RunOptions;
  readonly #reader: LetterReader;
  readonly #jobs = new Map<string, ImportedJob>();
  readonly #idOfName = new Map<string, string>();
  readonly #refused: { where: string; why: string }[] = [];
  #refusedCount = 0;
  #repeated = 0;
  #letters = 0;
  #batch = new Map<string, Letter[]>();
  #batchLetters = 0;
  #batchBytes = 0;
  /** Letters seen in a dry run, as truncated hashes, so that millions fit into memory. */
  readonly #seen = new Set<string>();

  constructor(engine: Engine, source: string, options: RunOptions) {
    this.#engine = engine;
    this.#source = source;
    this.#options = options;
    this.#reader = new LetterReader({ ...options, defaultJob: jobNameOf(source) });
  }

  async take(reading: Reading): Promise<void> {
    if (isRefusal(reading)) this.#refuse(reading);
    else if (reading.isRepeated) this.#repeated += 1;
    else for (const found of this.#reader.take(reading)) await this.#keep(found);
  }

  async end(): Promise<Imported> {
    for (const found of this.#reader.rest()) await this.#keep(found);
    await this.#flush();
    const jobs = [...this.#jobs.values()];
    const { imported, extended, existing } = jobs.reduce(sumOfReports, NOTHING_IMPORTED);
    return {
      imported,
      extended,
      existing: existing + this.#repeated,
      refused: this.#refused,
      refusedCount: this.#refusedCount,
      jobs,
      ignoredFields: [...this.#reader.unknownFields],
      foreignSignatures: this.#reader.foreignSignatures,
    };
  }

  async #keep(found: FoundLetter | Refusal): Promise<void> {
    if (isRefusal(found)) return this.#refuse(found);
    const { letter, bytes } = found;
    this.#letters += 1;
    const waiting = this.#batch.get(letter.jobId) ?? [];
    waiting.push(letter);
    this.#batch.set(letter.jobId, waiting);
    this.#batchLetters += 1;
    this.#batchBytes += bytes;
    if (this.#batchLetters < LETTERS_MAX && this.#batchBytes < BYTES_MAX) return;
    await this.#flush();
    this.#options.onProgress?.(this.#letters);
  }

  #refuse({ location, why }: Refusal): void {
    this.#refusedCount += 1;
    if (this.#refused.length < REFUSED_SHOWN_MAX) this.#refused.push({ where: locationText(location), why });
  }

  async #flush(): Promise<void> {
    for (const [name, letters] of this.#batch) {
      const job = await this.#open(name);
      const report = this.#options.isDry
        ? await this.#predict(job.isNew ? null : job.jobId, name, letters)
        : await this.#engine.importLetters(job.jobId, letters);
      this.#jobs.set(job.jobId, { ...job, ...sumOfReports(job, report) });
    }
    this.#batch = new Map();
    this.#batchLetters = 0;
    this.#batchBytes = 0;
  }

  async #open(name: string): Promise<ImportedJob> {
    const known = this.#jobs.get(this.#idOfName.get(name) ?? "");
    if (known !== undefined) return known;
    const found = await this.#engine.findJob(name);
    if (found !== null) await this.#endJob(found);
    else if (!this.#options.isDry) await this.#createJob(name);
    const jobId = found?.id ?? name;
    this.#idOfName.set(name, jobId);
    return this.#jobs.get(jobId) ?? { jobId, isNew: found === null, ...NOTHING_IMPORTED };
  }

  async #createJob(id: string): Promise<void> {
    const spec = { source: this.#source };
    try {
      await this.#endJob(await this.#engine.createJob({ id, name: id, kind: "imported", spec }));
    } catch (error) {
      // Another import may have created it at the same time.
      if (!(error instanceof RedriveError) || error.code !== "job_changed") throw error;
    }
  }

  /** Ends an imported job, which has nothing to run. A crash may have left it in the status running. */
  async #endJob({ id, kind, status }: Job): Promise<void> {
    if (kind !== "imported" || status !== "running" || this.#options.isDry) return;
    await this.#engine.changeJob(id, {
      status: "completed",
      intakeComplete: true,
      event: { type: "job_completed", data: { source: this.#source } },
    });
  }

  /** Counts what the store would do with the letters. `queue` is null if the job does not exist. */
  async #predict(queue: string | null, name: string, letters: readonly Letter[]): Promise<ImportReport> {
    const report: Record<keyof ImportReport, number> = { ...NOTHING_IMPORTED };
    for (const letter of letters) {
      const key = hash("sha256", `${name}\n${letter.itemId}`, "base64").slice(0, 16);
      report[this.#seen.has(key) ? "existing" : await this.#resultFor(queue, letter)] += 1;
      this.#seen.add(key);
    }
    return report;
  }

  async #resultFor(queue: string | null, letter: Letter): Promise<keyof ImportReport> {
    if (queue === null) return "imported";
    const [item] = await this.#engine.findItems(letter.itemId, { queue, limit: 1 });
    if (item?.itemId !== letter.itemId) return "imported";
    if (item.state === "dead")
      return item.attempts < importedLetter(letter).attempts.length ? "extended" : "existing";
    const isPurged = item.state === "discarded" && (await this.#engine.readLetter(item.ref)) === null;
    return isPurged ? "imported" : "existing";
  }
}

interface ImportedJob extends ImportReport {
  readonly jobId: string;
  readonly isNew: boolean;
}

async function readingsOf(path: string, { format, stdin = process.stdin }: ImportOptions) {
  const isFolder = path !== "-" && ((await stat(path).catch(() => null))?.isDirectory() ?? false);
  if (isFolder || format === "directory") return readFolder(path);
  const { chunks, name } = await openInput(path, stdin); // throws for an invalid path
  return readFile(chunks, name, format);
}

/** Derives the job's name from the file name, so that letters without a job always go to the same job. */
function jobNameOf(path: string): string {
  if (path === "-") return "imported";
  return basename(path).replace(/(\.(json|jsonl|ndjson|csv))?(\.(gz|zst))?$/i, "") || "imported";
}
