/** Opens an input and detects its format by its name or its first bytes. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { extname } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { RedriveError } from "../errors.ts";
import { codeOf, messageOf } from "../std/thrown.ts";
import { tryTo } from "../std/try-to.ts";
import { BYTE, isByteOrderMark, skipByteOrderMark, skipSpace, VALUE_START } from "./parse-json.ts";

export interface Input {
  /** The name of the input in messages. */
  readonly name: string;
  /** False for a pipe or a device, whose name does not show its format. */
  readonly isFile: boolean;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Opens a file, or stdin for `-`. A path that cannot be opened is a usage error. */
export async function openInput(path: string, stdin: Readable, signal?: AbortSignal): Promise<Input> {
  if (path === "-") return { name: "stdin", isFile: false, chunks: bytesOf(stdin, "stdin", signal) };
  const { file, isFile } = await openFile(path);
  if (!isFile) return { name: path, isFile, chunks: bytesOf(streamOf(file), path, signal) }; // a pipe opens only once
  await file.close();
  return { name: path, isFile, chunks: bytesOfFile(path, signal) };
}

/** Opens the file only when it is read, so that a caller that fails earlier leaves no file open. */
async function* bytesOfFile(path: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  signal?.throwIfAborted();
  yield* bytesOf(streamOf((await openFile(path)).file), path, signal);
}

const streamOf = (file: FileHandle) => file.createReadStream({ highWaterMark: READ_BYTES });

/** Throws like `openInput` for an unreadable input. Does not open a pipe, because closing it would end its writer. */
export async function requireInput(path: string): Promise<void> {
  const found = path === "-" ? undefined : await stat(path).catch(() => undefined); // opening the path reports errors
  if (path !== "-" && !found?.isFIFO()) await (await openFile(path)).file.close();
}

const READ_BYTES = 64 * 1024;
/** Larger chunks are split, so that batches stay small. */
const CHUNK_BYTES_MAX = 1024 * 1024;

async function openFile(path: string): Promise<{ file: FileHandle; isFile: boolean }> {
  const file = await open(path).catch((error: unknown) => {
    throw cannotOpen(path, error);
  });
  const found = await file.stat();
  if (!found.isDirectory()) return { file, isFile: found.isFile() };
  await file.close();
  throw new RedriveError("usage", `The input "${path}" is a directory.`, {
    hint: `Give a file, or the names of the files in it: find "${path}" -type f -print0.`,
  });
}

function cannotOpen(path: string, error: unknown): RedriveError {
  const code = codeOf(error) ?? String(error);
  const [problem, hint] = OPEN_PROBLEMS[code] ?? [`cannot be opened (${code})`, "Check the path."];
  return new RedriveError("usage", `The input "${path}" ${problem}.`, { hint, cause: error });
}

const OPEN_PROBLEMS: Readonly<Record<string, readonly [problem: string, hint: string]>> = {
  ENOENT: ["does not exist", "Check the path; - reads from stdin."],
  ENOTDIR: ["does not exist", "A part of the path is a file, not a directory."],
  EACCES: ["is not readable", "Change its permissions (chmod u+r), or run as another user."],
};

async function* bytesOf(stream: Readable, name: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  if (signal) addAbortSignal(signal, stream);
  try {
    for await (const given of stream) {
      const chunk = Buffer.isBuffer(given) ? given : Buffer.from(given);
      for (let at = 0; at < chunk.length; at += CHUNK_BYTES_MAX)
        yield chunk.subarray(at, at + CHUNK_BYTES_MAX);
    }
  } catch (error) {
    signal?.throwIfAborted();
    const reason = messageOf(error);
    throw new RedriveError("input_invalid", `${name}: reading failed: ${reason}`, {
      hint: "Run the command again; items that were already added are not added twice.",
      cause: error,
    });
  }
}

/** All input formats. `null` is text whose records end with a NUL byte, as `find -print0` writes. */
export const INPUT_FORMATS = ["json", "jsonl", "csv", "lines", "null"] as const;
/** One of `INPUT_FORMATS`. */
export type InputFormat = (typeof INPUT_FORMATS)[number];

interface Detected {
  readonly format: InputFormat;
  /** The whole input, including the bytes that were examined. */
  readonly chunks: AsyncIterable<Buffer>;
}

export function formatOfName(path: string): InputFormat | undefined {
  return FORMAT_OF_EXTENSION[extname(path).toLowerCase()];
}

const FORMAT_OF_EXTENSION: Readonly<Record<string, InputFormat>> = {
  ".json": "json",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".csv": "csv",
};

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

/** The maximum number of bytes that format detection reads. */
const HEAD_BYTES_MAX = 1024 * 1024;

function isEnough(head: Buffer): boolean {
  if (head.length >= HEAD_BYTES_MAX) return true;
  if (head.length < 3 && isByteOrderMark(head[0], 0)) return false;
  const start = skipSpace(head, skipByteOrderMark(head));
  if (head[start] === BYTE.openObject) return head.indexOf(BYTE.lineFeed, start) >= 0;
  if (head[start] === BYTE.openArray) return skipSpace(head, start + 1) < head.length;
  return start < head.length;
}

function formatOfHead(head: Buffer): InputFormat | undefined {
  const start = skipSpace(head, skipByteOrderMark(head));
  if (head[start] === BYTE.openObject) return formatOfObject(head, start);
  if (head[start] === BYTE.openArray) return formatOfArray(head.subarray(start));
  return undefined;
}

/**
 * An object on one line is JSON Lines. An object over several lines, or an invalid one, is read as JSON, and
 * the JSON reader reports that an array is expected. If it were read as plain lines, each fragment would
 * become an item.
 */
function formatOfObject(head: Buffer, start: number): InputFormat | undefined {
  const end = head.indexOf(BYTE.lineFeed, start);
  if (end < 0 && head.length >= HEAD_BYTES_MAX) return "jsonl";
  const line = head.subarray(start, end < 0 ? head.length : end);
  if (tryTo(() => JSON.parse(line.toString()) !== undefined)) return "jsonl";
  const next = skipSpace(line, 1);
  return next === line.length || line[next] === BYTE.quote ? "json" : undefined;
}

/** Requires a JSON value after the bracket, because log lines may also begin with a bracket. */
function formatOfArray(head: Buffer): InputFormat | undefined {
  const next = skipSpace(head, 1);
  const byte = head[next];
  return byte === undefined || byte === BYTE.closeArray || VALUE_START.has(byte) ? "json" : undefined;
}

/** Yields the bytes that were already read, then the rest of the stream. */
export async function* replay(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
