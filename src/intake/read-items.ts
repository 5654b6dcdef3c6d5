/** Reads an input as batches of items with ids. Reads no faster than the batches are consumed. */
import type { Readable } from "node:stream";
import type { NewItem } from "../item/item.ts";
import { Identity, type IdentityOptions } from "./identity.ts";
import {
  formatOfName,
  type Input,
  type InputFormat,
  openInput,
  sniffJsonFile,
  sniffStream,
} from "./input.ts";
import type { IntakeRecord, Origin, RecordReader } from "./origin.ts";

/** The input, its format, and how ids are derived. */
export interface InputSource extends IdentityOptions {
  /** The path of a file; `-` is stdin. */
  readonly path: string;
  /** Default: detected by the file name, or by the first bytes of a stream. */
  readonly format?: InputFormat;
}

export interface ReadOptions {
  /** The stream for `-`. Default: the process's stdin. */
  readonly stdin?: Readable;
  /** The maximum number of items in a batch. Default 500. */
  readonly batchMax?: number;
  /** Aborting the signal ends the iteration with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Streams the items of an input in bounded memory. Yields the items before an invalid record, then throws. */
export async function* readItems(
  source: InputSource,
  options: ReadOptions = {},
): AsyncGenerator<IntakeBatch> {
  const { origin, runs } = await openRecords(source, options);
  const batcher = new Batcher(new Identity(origin, source), options.batchMax ?? BATCH_MAX);
  // A batch ends with the bytes that are available, so that items from a slow pipe do not wait for a full batch.
  for await (const records of runs) yield* batcher.batchesOf(records);
  yield* batcher.rest();
}

/** The records of an input, before they have ids. */
export interface OpenRecords {
  readonly origin: Origin;
  readonly runs: ReturnType<RecordReader>;
}

/** Opens an input for callers that examine records before they become items. */
export async function openRecords(
  source: Pick<InputSource, "path" | "format">,
  options: Pick<ReadOptions, "stdin" | "signal"> = {},
): Promise<OpenRecords> {
  const input = await openInput(source.path, options.stdin ?? process.stdin, options.signal);
  const { origin, chunks } = await withFormat(input, source);
  const read = await READERS[origin.format]();
  return { origin, runs: read(chunks, origin) };
}

const BATCH_MAX = 500;

async function withFormat(
  { name, isFile, chunks }: Input,
  { format }: Pick<InputSource, "format">,
): Promise<{ origin: Origin; chunks: AsyncIterable<Buffer> }> {
  const named = format ?? (isFile ? (formatOfName(name) ?? "lines") : undefined);
  if (named !== undefined && (format !== undefined || named !== "json")) {
    return { origin: { name, format: named, sniffed: false }, chunks };
  }
  const detected = await (named === "json" ? sniffJsonFile(chunks) : sniffStream(chunks));
  const sniffed = detected.format !== named;
  return { origin: { name, format: detected.format, sniffed }, chunks: detected.chunks };
}

/** Loads readers on demand, so that commands start fast. */
const READERS: Readonly<Record<InputFormat, () => Promise<RecordReader>>> = {
  json: async () => (await import("./json-array.ts")).readJsonArray,
  jsonl: async () => (await import("./lines.ts")).readJsonLines,
  csv: async () => (await import("./csv.ts")).readCsv,
  lines: async () => (await import("./lines.ts")).readLines,
  null: async () => (await import("./lines.ts")).readNullSeparated,
};

export interface IntakeBatch {
  /** Empty only in the last batch, when all remaining records were dropped. */
  readonly items: readonly NewItem[];
  /** Records read so far, including dropped ones. */
  readonly read: number;
  /** Records dropped by `distinct` so far. */
  readonly duplicates: number;
}

/** Collects records into batches of items and counts them. */
class Batcher {
  readonly #identity: Identity;
  readonly #batchMax: number;
  #read = 0;
  #duplicates = 0;
  #readReported = 0;

  constructor(identity: Identity, batchMax: number) {
    this.#identity = identity;
    this.#batchMax = batchMax;
  }

  /** Yields all valid items before it throws the error of an invalid record. */
  *batchesOf(records: Iterable<IntakeRecord>): Generator<IntakeBatch> {
    const rest = records[Symbol.iterator]();
    for (;;) {
      const { items, ended, failure } = this.#collect(rest);
      if (items.length > 0) yield this.#batch(items);
      if (failure !== undefined) throw failure.error;
      if (ended) return;
    }
  }

  /** Yields the final counts if the last records were all dropped. */
  *rest(): Generator<IntakeBatch> {
    if (this.#read > this.#readReported) yield this.#batch([]);
  }

  #collect(records: Iterator<IntakeRecord>): {
    items: readonly NewItem[];
    ended: boolean;
    failure?: { error: unknown };
  } {
    const items: NewItem[] = [];
    try {
      while (items.length < this.#batchMax) {
        const next = records.next();
        if (next.done) return { items, ended: true };
        this.#read++;
        const item = this.#identity.itemOf(next.value);
        if (item === undefined) this.#duplicates++;
        else items.push(item);
      }
    } catch (error) {
      return { items, ended: true, failure: { error } };
    }
    return { items, ended: false };
  }

  #batch(items: readonly NewItem[]): IntakeBatch {
    this.#readReported = this.#read;
    return { items, read: this.#read, duplicates: this.#duplicates };
  }
}
