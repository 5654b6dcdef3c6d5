/**
 * Stage 1 of an item's life: an input becomes batches of items, each with an id. It reads only as fast as batches are
 * taken, and never holds more than one batch, one chunk of the input and one record.
 */
import type { Readable } from "node:stream";
import { Batcher, type IntakeBatch } from "./batcher.ts";
import { formatOfName, type InputFormat, sniffJsonFile, sniffStream } from "./format.ts";
import { Identity, type IdentityOptions } from "./identity.ts";
import { type Input, openInput } from "./input.ts";
import type { Origin } from "./origin.ts";
import type { IntakeRecord, RecordReader } from "./record.ts";

/** Where items come from, in which format, and what they are known by. */
export interface InputSource extends IdentityOptions {
  /** A file; `-` is stdin. */
  readonly path: string;
  /** Default: concluded from the name of the file, or from the first bytes of a stream. */
  readonly format?: InputFormat;
}

export interface ReadOptions {
  /** What `-` reads. Default: the process's own. */
  readonly stdin?: Readable;
  /** How many items a batch has at most. Default 500. */
  readonly batchMax?: number;
  /** Ends the reading: the iteration then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Streams the items of an input. Memory stays bounded whatever its size. When a record is wrong, the items before it
 * are delivered first, then the error is thrown. An empty input gives no batch.
 */
export async function* readItems(
  source: InputSource,
  options: ReadOptions = {},
): AsyncGenerator<IntakeBatch> {
  const { origin, runs } = await openRecords(source, options);
  const batcher = new Batcher(new Identity(origin, source), options.batchMax ?? BATCH_MAX);
  // A batch ends with the bytes that are there: items from a slow pipe do not wait for the batch to fill.
  for await (const records of runs) yield* batcher.batchesOf(records);
  yield* batcher.rest();
}

/** Records as they stand in an input, before they have ids. */
export interface OpenRecords {
  readonly origin: Origin;
  readonly runs: AsyncIterable<Iterable<IntakeRecord>>;
}

/** Opens an input whose records are to be looked at before they become items. */
export async function openRecords(
  source: Pick<InputSource, "path" | "format">,
  options: Pick<ReadOptions, "stdin" | "signal"> = {},
): Promise<OpenRecords> {
  const input = await openInput(source.path, options.stdin ?? process.stdin, options.signal);
  const { origin, chunks } = await withFormat(input, source);
  const read = await readerOf(origin.format);
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

/** Each reader is loaded when it is needed: most runs need one, and the start of the program counts. */
async function readerOf(format: InputFormat): Promise<RecordReader> {
  switch (format) {
    case "json":
      return (await import("./json-array.ts")).readJsonArray;
    case "jsonl":
      return (await import("./json-lines.ts")).readJsonLines;
    case "csv":
      return (await import("./csv.ts")).readCsv;
    case "lines":
      return (await import("./lines.ts")).readLines;
    case "null":
      return (await import("./lines.ts")).readNullSeparated;
  }
}
