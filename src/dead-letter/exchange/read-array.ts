/**
 * Records of a JSON array, of a document that has one in its field `items`, or of a file that is a single object. An array
 * is cut into its elements as it comes; only one element is in memory.
 */
import { isUtf8 } from "node:buffer";
import { WorkError } from "../../errors.ts";
import { ArrayScanner } from "../../intake/array-scanner.ts";
import { BYTE, skipMark } from "../../intake/json-bytes.ts";
import { RECORD_BYTES_MAX } from "../../intake/origin.ts";
import { decodeUtf8 } from "../../intake/utf8.ts";
import { blankComments } from "./comments.ts";
import { itemsAt } from "./items-field.ts";
import { originOf, parseRecord } from "./parse-record.ts";
import type { Reading } from "./reading.ts";

/** The elements. What is wrong with the array itself is thrown, after all that came before. */
export async function* readArray(
  chunks: AsyncIterable<Buffer>,
  file: string,
): AsyncGenerator<Iterable<Reading>> {
  const scanner = new ArrayScanner(originOf(file));
  for await (const chunk of chunks) yield elementsOf(scanner, chunk, file);
  scanner.end();
}

/** The elements of the field `items`, which has to begin in the first chunk. */
export async function* readDocument(
  chunks: AsyncIterable<Buffer>,
  file: string,
): AsyncGenerator<Iterable<Reading>> {
  const rest: Buffer[] = [];
  let head: Buffer | undefined;
  const scanner = new ArrayScanner(originOf(file), (bytes) => rest.push(bytes));
  for await (const chunk of chunks) {
    if (head !== undefined) yield elementsOf(scanner, chunk, file);
    else {
      head = chunk.subarray(0, itemsAt(chunk) ?? 0);
      yield elementsOf(scanner, withoutHead(chunk, head.length), file);
    }
    refuseLongRest(rest);
  }
  scanner.end();
  refuseOpenDocument(head ?? Buffer.alloc(0), rest);
}

/** A file with one record. */
export async function* readSingle(
  chunks: AsyncIterable<Buffer>,
  file: string,
): AsyncGenerator<readonly Reading[]> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    bytes += chunk.length;
    if (bytes > RECORD_BYTES_MAX) {
      return yield [{ place: { file }, why: `longer than ${RECORD_BYTES_MAX / 1024 / 1024} MB` }];
    }
  }
  yield [recordOf(Buffer.concat(pieces), file)];
}

/** The record that a whole file is. */
export function recordOf(given: Buffer, file: string): Reading {
  if (!isUtf8(given)) return { place: { file }, why: "not valid UTF-8" };
  const bytes = blankComments(given);
  return parseRecord(decodeUtf8(bytes).replace(/^\uFEFF/, ""), { file }, bytes.length);
}

function* elementsOf(scanner: ArrayScanner, chunk: Buffer, file: string): Generator<Reading> {
  for (const { bytes, line } of scanner.push(chunk)) {
    const place = { file, line };
    yield isUtf8(bytes)
      ? parseRecord(decodeUtf8(bytes), place, bytes.length)
      : { place, why: "not valid UTF-8" };
  }
}

/** White space in its place, so that lines are still counted right. */
function withoutHead(chunk: Buffer, length: number): Buffer {
  const copy = Buffer.from(chunk);
  for (let index = 0; index < length; index++) if (copy[index] !== BYTE.lineFeed) copy[index] = 0x20;
  return copy;
}

const REST_BYTES_MAX = 1024 * 1024;

function refuseLongRest(rest: readonly Buffer[]): void {
  if (rest.reduce((sum, { length }) => sum + length, 0) <= REST_BYTES_MAX) return;
  throw new WorkError("input_invalid", "there is too much after the letters of the document");
}

function refuseOpenDocument(head: Buffer, rest: readonly Buffer[]): void {
  try {
    JSON.parse(`${head.subarray(skipMark(head))}[]${Buffer.concat(rest)}`);
  } catch (cause) {
    throw new WorkError("input_invalid", "the document has no end; it may be cut off", { cause });
  }
}
