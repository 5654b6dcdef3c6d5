/**
 * Which format an input has when nobody said so: by the name of a file, by the first bytes of a stream. It looks at
 * the head only and gives the bytes it looked at back.
 */
import { extname } from "node:path";
import { BYTE, isMark, skipMark, skipSpace, VALUE_START } from "./json-bytes.ts";

/** Every format an input can have. `null` is text whose records end with a NUL byte, as `find -print0` writes. */
export const INPUT_FORMATS = ["json", "jsonl", "csv", "lines", "null"] as const;
/** One of `INPUT_FORMATS`. */
export type InputFormat = (typeof INPUT_FORMATS)[number];

export interface Detected {
  readonly format: InputFormat;
  /** The whole input, the bytes that were looked at included. */
  readonly chunks: AsyncIterable<Buffer>;
}

/** The format that a file name promises; undefined when it promises none. */
export function formatOfName(path: string): InputFormat | undefined {
  return FORMAT_OF_EXTENSION[extname(path).toLowerCase()];
}

const FORMAT_OF_EXTENSION: Readonly<Record<string, InputFormat>> = {
  ".json": "json",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".csv": "csv",
};

/** Looks at the first bytes of an input whose name says nothing. */
export function sniffStream(chunks: AsyncIterable<Buffer>): Promise<Detected> {
  return sniff(chunks, (head) => formatOfHead(head) ?? (head.includes(0x00) ? "null" : "lines"));
}

/** A `.json` file is often JSON Lines under a wrong name: one object per line instead of an array. */
export function sniffJsonFile(chunks: AsyncIterable<Buffer>): Promise<Detected> {
  return sniff(chunks, (head) => (formatOfHead(head) === "jsonl" ? "jsonl" : "json"));
}

async function sniff(
  chunks: AsyncIterable<Buffer>,
  formatOf: (head: Buffer) => InputFormat,
): Promise<Detected> {
  const rest = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  for (;;) {
    const next = await rest.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
    if (isEnough(head)) break;
  }
  return { format: formatOf(head), chunks: replay(head, rest) };
}

/** A first line longer than this is not waited for; what it begins with has to do. */
const HEAD_BYTES_MAX = 1024 * 1024;

function isEnough(head: Buffer): boolean {
  if (head.length >= HEAD_BYTES_MAX) return true;
  if (head.length < 3 && isMark(head[0], 0)) return false;
  const start = skipSpace(head, skipMark(head));
  if (head[start] === BYTE.openObject) return head.indexOf(BYTE.lineFeed, start) >= 0;
  if (head[start] === BYTE.openArray) return skipSpace(head, start + 1) < head.length;
  return start < head.length;
}

function formatOfHead(head: Buffer): InputFormat | undefined {
  const start = skipSpace(head, skipMark(head));
  if (head[start] === BYTE.openObject) return formatOfObject(head, start);
  if (head[start] === BYTE.openArray) return formatOfArray(head.subarray(start));
  return undefined;
}

/**
 * An object that fills its line is JSON Lines. One that goes on over several lines, or is broken, is taken for JSON,
 * whose reader then says that an array is expected; as plain lines each fragment would become an item.
 */
function formatOfObject(head: Buffer, start: number): InputFormat | undefined {
  const end = head.indexOf(BYTE.lineFeed, start);
  if (end < 0 && head.length >= HEAD_BYTES_MAX) return "jsonl";
  const line = head.subarray(start, end < 0 ? head.length : end);
  if (isJson(line.toString())) return "jsonl";
  const next = skipSpace(line, 1);
  return next === line.length || line[next] === BYTE.quote ? "json" : undefined;
}

/** Log lines begin with a bracket too, but what follows there is seldom a value. */
function formatOfArray(head: Buffer): InputFormat | undefined {
  const next = skipSpace(head, 1);
  const byte = head[next];
  return byte === undefined || byte === BYTE.closeArray || VALUE_START.has(byte) ? "json" : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function* replay(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
