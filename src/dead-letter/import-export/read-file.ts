/** Reads the records of one file or stream in any format, compressed or not. */

import { isUtf8 } from "node:buffer";
import { RedriveError } from "../../errors.ts";
import { replay } from "../../intake/input.ts";
import { decodeUtf8, RECORD_BYTES_MAX } from "../../intake/origin.ts";
import { skipByteOrderMark } from "../../intake/parse-json.ts";
import { decompress } from "./compress.ts";
import {
  type Container,
  containerOf,
  readArray,
  readDocument,
  readSingle,
  withoutComments,
} from "./read-json.ts";
import { compressionOfBytes, type ImportFormat, parseRecord, type Reading, refusalOf } from "./reading.ts";

/** Yields batches of records. An error during reading becomes the last record; an unknown format throws. */
export async function* readFile(
  chunks: AsyncIterable<Buffer>,
  file: string,
  format?: ImportFormat,
): AsyncGenerator<Iterable<Reading>> {
  const packed = await peek(chunks, MAGIC_BYTES_MAX);
  const plain = withoutComments(decompress(packed.chunks, compressionOfBytes(packed.bytes)));
  const progress = { hasBegun: false };
  try {
    const opened = await peek(plain, HEAD_BYTES);
    const read = READERS[requireContainer(containerOf(opened, file, format), file)];
    progress.hasBegun = true;
    for await (const run of read(opened.chunks, file)) yield run;
  } catch (error) {
    if (!progress.hasBegun) throw error;
    yield [refusalOf(error, { file })];
  } finally {
    await plain.return(undefined); // closes the file, also if the consumer stopped early
  }
}

const MAGIC_BYTES_MAX = 4;
const HEAD_BYTES = 64 * 1024;

const READERS = {
  lines: readJsonLines,
  array: readArray,
  document: readDocument,
  single: readSingle,
  csv: async function* (chunks: AsyncIterable<Buffer>, file: string) {
    yield* (await import("./csv.ts")).readCsv(chunks, file); // loads the CSV parser
  },
} as const satisfies Record<Container, Reader>;

type Reader = (chunks: AsyncIterable<Buffer>, file: string) => AsyncIterable<Iterable<Reading>>;

function requireContainer(container: Container | undefined, file: string): Container {
  if (container !== undefined) return container;
  throw new RedriveError("input_invalid", `${file} is not in a known letter format.`, {
    hint: "Supported: JSON, JSON Lines, CSV with a column item_id, and letter directories. Set --format if it is not detected.",
  });
}

/** Returns the first bytes (at least this many if available), and a stream that still includes them. */
async function peek(chunks: AsyncIterable<Buffer>, bytesMin: number) {
  const rest = chunks[Symbol.asyncIterator]();
  const pieces: Buffer[] = [];
  let length = 0;
  let isAll = false;
  while (length < bytesMin && !isAll) {
    const next = await rest.next();
    if (next.done) isAll = true;
    else {
      pieces.push(next.value);
      length += next.value.length;
    }
  }
  const bytes = Buffer.concat(pieces);
  return { bytes, isAll, chunks: replay(bytes, rest) };
}

const LINE_FEED = 0x0a;

export async function* readJsonLines(chunks: AsyncIterable<Buffer>, file: string) {
  let first = 1;
  for await (const block of blocksOf(chunks)) {
    const [readings, lines] =
      block === TOO_LONG ? [[tooLong(file, first)], 1] : readBlock(block, file, first);
    yield readings;
    first += lines;
  }
}

/** Replaces a line that exceeds the size limit. */
const TOO_LONG = Symbol("too long");

function tooLong(file: string, line: number): Reading {
  return { location: { file, line }, why: `longer than ${RECORD_BYTES_MAX / 1024 / 1024} MB` };
}

/** Complete lines, as many as a chunk contains. Lines that are too long are dropped. */
async function* blocksOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | typeof TOO_LONG> {
  let open: Buffer[] = [];
  let openBytes = 0;
  let isSkipping = false;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    const start = isSkipping ? chunk.indexOf(LINE_FEED) + 1 : 0;
    if (isSkipping && start === 0) continue;
    if (isSkipping) {
      yield TOO_LONG;
      isSkipping = false;
    }
    if (end > start)
      yield openBytes === 0 ? chunk.subarray(start, end) : Buffer.concat([...open, chunk.subarray(0, end)]);
    if (end > 0) [open, openBytes] = [[], 0];
    open.push(chunk.subarray(end));
    openBytes += chunk.length - end;
    if (openBytes > RECORD_BYTES_MAX) [open, openBytes, isSkipping] = [[], 0, true];
  }
  if (isSkipping) yield TOO_LONG;
  else if (openBytes > 0) yield Buffer.concat(open);
}

function readBlock(block: Buffer, file: string, firstLine: number): [Reading[], number] {
  const bytes = firstLine === 1 ? block.subarray(skipByteOrderMark(block)) : block;
  const texts = isUtf8(bytes) ? decodeUtf8(bytes).split("\n") : [...textsOf(bytes)];
  const readings: Reading[] = [];
  for (const [index, text] of texts.entries()) {
    const location = { file, line: firstLine + index };
    if (text === undefined) readings.push({ location, why: "not valid UTF-8" });
    else if (text.trim() !== "") readings.push(parseRecord(text, location, text.length));
  }
  return [readings, texts.length - 1];
}

function* textsOf(bytes: Buffer): Generator<string | undefined> {
  for (let start = 0; start <= bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, start);
    const line = bytes.subarray(start, found < 0 ? bytes.length : found);
    yield isUtf8(line) ? line.toString() : undefined;
    start = found < 0 ? bytes.length + 1 : found + 1;
  }
}
