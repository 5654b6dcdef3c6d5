/**
 * Takes letters in from files and folders, of ours and of predecessors. What cannot be read is told with its place; all
 * else comes in, in durable steps. Importing the same again changes nothing.
 */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { idProblem } from "../../intake/field.ts";
import { openInput } from "../../intake/input.ts";
import type { ImportFormat } from "./format.ts";
import { ImportBatch } from "./import-batch.ts";
import { type ImportedJob, ImportJobs } from "./import-jobs.ts";
import { type FoundLetter, LetterReader } from "./letters-of.ts";
import { readFile } from "./read-file.ts";
import { readFolder } from "./read-folder.ts";
import { isRefusal, placeText, type RawRecord, type Reading, type Refusal } from "./reading.ts";
import { receiptsJobOf } from "./receipt.ts";

export interface ImportOptions {
  /** Puts every letter into this job. Default: the job that each names, else that of its folder, else one called like the file. */
  readonly job?: string;
  /** Default: by what is there. */
  readonly format?: ImportFormat;
  /** Looks at everything and changes nothing. */
  readonly isDry?: boolean;
  /** What `-` reads. Default: the process's own. */
  readonly stdin?: Readable;
  readonly onProgress?: (letters: number) => void;
  /** Ends the reading early; what was read is taken in, and the same import again takes in the rest. */
  readonly signal?: AbortSignal;
}

/** What became of everything that was read. */
export interface Imported {
  readonly imported: number;
  /** Were there, and got attempts that they lacked. */
  readonly extended: number;
  /** Were there, and left alone. */
  readonly existing: number;
  /** The first of them. */
  readonly refused: readonly { readonly where: string; readonly why: string }[];
  readonly refusedCount: number;
  readonly jobs: readonly ImportedJob[];
  /** Names of fields that letters do not have here, and that were dropped; the first of them. */
  readonly ignoredFields: readonly string[];
  /** Letters that came with the `error_signature` of another program, which they keep as `source_signature`. */
  readonly foreignSignatures: number;
  /** Numbers that JavaScript cannot hold exactly, which are strings of their digits now. */
  readonly quotedNumbers: number;
}

/** Resolves when all that can be read is in the store. */
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
  if (problem !== undefined) throw new WorkError("usage", `The name of the job ${problem}.`);
}

const REFUSED_SHOWN_MAX = 100;

/** One import under way: records become letters, letters fill batches, batches go to the store. */
class ImportRun {
  readonly #jobs: ImportJobs;
  readonly #batch: ImportBatch;
  readonly #reader: LetterReader;
  readonly #onProgress: (letters: number) => void;
  readonly #refused: { where: string; why: string }[] = [];
  #refusedCount = 0;
  #repeated = 0;
  #letters = 0;
  #quotedNumbers = 0;

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
    this.#quotedNumbers += record.quotedNumbers ?? 0;
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
      quotedNumbers: this.#quotedNumbers,
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
  const { chunks, name } = await openInput(path, stdin); // says what is wrong with the path
  return readFile(chunks, name, format);
}

/** `receipts.json.gz` → `receipts`: letters that name no job have one home, whoever imports them again. */
function jobNameOf(path: string): string {
  if (path === "-") return "imported";
  return basename(path).replace(/(\.(json|jsonl|ndjson|csv))?(\.(gz|zst))?$/i, "") || "imported";
}
