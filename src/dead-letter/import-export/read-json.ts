/** Reads a JSON array, a document with an array `items`, or one object. Holds one element in memory. */
import { isUtf8 } from "node:buffer";
import { RedriveError } from "../../errors.ts";
import { ArrayScanner } from "../../intake/json-array.ts";
import { decodeUtf8, RECORD_BYTES_MAX } from "../../intake/origin.ts";
import { BYTE, skipByteOrderMark, skipSpace } from "../../intake/parse-json.ts";
import { isJsonObject } from "../../std/json.ts";
import { tryTo } from "../../std/try-to.ts";
import { formatOfName, type ImportFormat, originOf, parseRecord, type Reading } from "./reading.ts";

/** Yields the elements. An error in the array itself is thrown after all elements before it. */
export async function* readArray(chunks: AsyncIterable<Buffer>, file: string) {
  const scanner = new ArrayScanner(originOf(file));
  for await (const chunk of chunks) yield elementsOf(scanner, chunk, file);
  scanner.end();
}

/** Yields the elements of the field `items`, which must start in the first chunk. */
export async function* readDocument(chunks: AsyncIterable<Buffer>, file: string) {
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

export async function* readSingle(chunks: AsyncIterable<Buffer>, file: string): AsyncGenerator<Reading[]> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    bytes += chunk.length;
    if (bytes > RECORD_BYTES_MAX) {
      return yield [{ location: { file }, why: `longer than ${RECORD_BYTES_MAX / 1024 / 1024} MB` }];
    }
  }
  yield [recordOf(Buffer.concat(pieces), file)];
}

export function recordOf(given: Buffer, file: string): Reading {
  if (!isUtf8(given)) return { location: { file }, why: "not valid UTF-8" };
  const bytes = blankComments(given);
  return parseRecord(decodeUtf8(bytes).replace(/^\uFEFF/, ""), { file }, bytes.length);
}

function* elementsOf(scanner: ArrayScanner, chunk: Buffer, file: string): Generator<Reading> {
  for (const { bytes, line } of scanner.push(chunk)) {
    const location = { file, line };
    yield isUtf8(bytes)
      ? parseRecord(decodeUtf8(bytes), location, bytes.length)
      : { location, why: "not valid UTF-8" };
  }
}

/** Replaces the head by spaces, so that line numbers stay correct. */
function withoutHead(chunk: Buffer, length: number): Buffer {
  const copy = Buffer.from(chunk);
  for (let index = 0; index < length; index++) if (copy[index] !== BYTE.lineFeed) copy[index] = 0x20;
  return copy;
}

const REST_BYTES_MAX = 1024 * 1024;

function refuseLongRest(rest: readonly Buffer[]): void {
  if (rest.reduce((sum, { length }) => sum + length, 0) <= REST_BYTES_MAX) return;
  throw new RedriveError("input_invalid", "the document contains too much data after its letters");
}

function refuseOpenDocument(head: Buffer, rest: readonly Buffer[]): void {
  try {
    JSON.parse(`${head.subarray(skipByteOrderMark(head))}[]${Buffer.concat(rest)}`);
  } catch (cause) {
    throw new RedriveError("input_invalid", "the document is incomplete; it may be truncated", { cause });
  }
}

const COLON = 0x3a;

export function itemsAt(head: Buffer): number | undefined {
  const start = skipSpace(head, skipByteOrderMark(head));
  if (head[start] !== BYTE.openObject) return undefined;
  let depth = 0;
  for (let index = start; index < head.length; index++) {
    const byte = head[index];
    if (byte === BYTE.openObject || byte === BYTE.openArray) depth++;
    else if (byte === BYTE.closeObject || byte === BYTE.closeArray) depth--;
    else if (byte === BYTE.quote) {
      const end = endOfString(head, index);
      const array = depth === 1 ? arrayOf(head, index, end) : undefined;
      if (array !== undefined) return array;
      index = end;
    }
    if (depth === 0) return undefined;
  }
  return undefined;
}

function arrayOf(head: Buffer, start: number, end: number): number | undefined {
  if (head.toString("latin1", start, end + 1) !== '"items"') return undefined;
  const colon = skipSpace(head, end + 1);
  if (head[colon] !== COLON) return undefined;
  const value = skipSpace(head, colon + 1);
  return head[value] === BYTE.openArray ? value : undefined;
}

function endOfString(head: Buffer, start: number): number {
  let index = start + 1;
  while (index < head.length && head[index] !== BYTE.quote) index += head[index] === BYTE.backslash ? 2 : 1;
  return index;
}

/** A JSON array, an object with an array `items`, a single object, one object per line, or CSV rows. */
export type Container = "array" | "document" | "single" | "lines" | "csv";

export type Head = { readonly bytes: Buffer; readonly isAll: boolean };

export function containerOf(head: Head, file: string, format?: ImportFormat): Container | undefined {
  if (format === "csv") return "csv";
  if (format === "jsonl") return "lines";
  const { bytes } = head;
  const start = skipSpace(bytes, skipByteOrderMark(bytes));
  if (start === bytes.length) return "lines"; // an empty file has no letters
  if (bytes[start] === BYTE.openArray) return "array";
  if (bytes[start] === BYTE.openObject) return containerOfObject(head, start);
  const named = formatOfName(file);
  if (named === "jsonl") return "lines";
  if (named === "csv" || /(^|[,"])item_id([,"\r\n]|$)/.test(firstLine(bytes, start))) return "csv";
  return undefined;
}

function containerOfObject({ bytes, isAll }: Head, start: number): Container {
  if (itemsAt(bytes) !== undefined) return "document";
  const line = firstLine(bytes, start);
  if (isObject(line)) return "lines";
  if (isAll && isObject(bytes.toString("utf8", start))) return "single";
  // The first line of an object that spans several lines ends with an open bracket or a comma.
  return /[{[,]\s*$/.test(line) && line.length < bytes.length - start ? "single" : "lines";
}

function firstLine(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(BYTE.lineFeed, start);
  return bytes.toString("utf8", start, end < 0 ? bytes.length : end);
}

const isObject = (text: string) => isJsonObject(tryTo(() => JSON.parse(text)));

const SLASH = 0x2f;
const HASH = 0x23;
const SPACE = 0x20;
const TAB = 0x09;
const RETURN = 0x0d;

/** Replaces comments by spaces. A stream that is not JSON is passed through unchanged. */
export async function* withoutComments(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let blanker: CommentBlanker | null | undefined;
  for await (const chunk of chunks) {
    if (blanker === undefined) blanker = startsLikeJson(chunk) ? new CommentBlanker() : null;
    if (blanker === null) yield chunk;
    else yield* blanker.push(chunk);
  }
  if (blanker) yield* blanker.end();
}

/** Like `withoutComments`, for a complete buffer. */
export function blankComments(bytes: Buffer): Buffer {
  if (!startsLikeJson(bytes)) return bytes;
  const blanker = new CommentBlanker();
  return Buffer.concat([...blanker.push(bytes), ...blanker.end()]);
}

function startsLikeJson(bytes: Buffer): boolean {
  const first = bytes[skipSpace(bytes, skipByteOrderMark(bytes))];
  return first === BYTE.openObject || first === BYTE.openArray || first === SLASH || first === HASH;
}

class CommentBlanker {
  #state: "plain" | "string" | "comment" = "plain";
  #isEscaped = false;
  #isLineStart = true;
  /** A slash at the end of a chunk: together with the next chunk it may start a comment. */
  #slash: Buffer | null = null;

  /** Copies a chunk only if it contains a comment. */
  push(given: Buffer): readonly Buffer[] {
    const chunk = this.#slash === null ? given : Buffer.concat([this.#slash, given]);
    this.#slash = null;
    let copy: Buffer | null = null;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] ?? 0;
      if (this.#state === "string") this.#inString(byte);
      else if (byte === BYTE.lineFeed) [this.#state, this.#isLineStart] = ["plain", true];
      else if (this.#state === "comment" || this.#opensComment(byte, chunk, index)) {
        if (byte === SLASH && this.#state === "plain" && index + 1 === chunk.length) {
          this.#slash = Buffer.from([SLASH]);
          return [(copy ?? chunk).subarray(0, index)];
        }
        this.#state = "comment";
        copy ??= Buffer.from(chunk);
        copy[index] = SPACE;
      } else this.#between(byte);
    }
    return [copy ?? chunk];
  }

  end(): readonly Buffer[] {
    return this.#slash === null ? [] : [this.#slash];
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BYTE.backslash) this.#isEscaped = true;
    else if (byte === BYTE.quote) this.#state = "plain";
  }

  #between(byte: number): void {
    if (byte === BYTE.quote) this.#state = "string";
    if (byte !== SPACE && byte !== TAB && byte !== RETURN) this.#isLineStart = false;
  }

  #opensComment(byte: number, chunk: Buffer, index: number): boolean {
    if (byte === HASH) return this.#isLineStart;
    return byte === SLASH && (index + 1 === chunk.length || chunk[index + 1] === SLASH);
  }
}
