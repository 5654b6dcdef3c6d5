/**
 * Writes the log of an attempt, whose output may be far larger than memory:
 *
 *   == stdout (12 bytes) ==      only when there was any
 *   the bytes, and a newline if they do not end with one
 *   == stderr (5 bytes) ==
 *   the bytes, likewise
 *
 * A log of several steps has these sections under the title of each step. Of a stream above the limit the first and the last
 * part are kept, with a line between them that says how much was dropped.
 */
import { closeSync, mkdirSync, openSync, readSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../std/files.ts";

/** A part of a stream: bytes in memory, or a range of a file. */
export type Piece = Buffer | { readonly path: string; readonly from: number; readonly bytes: number };

export interface LogStream {
  readonly name: "stdout" | "stderr";
  /** The number of bytes that the command wrote. */
  readonly bytes: number;
  readonly head: readonly Piece[];
  /** Describes what is missing between head and tail. */
  readonly droppedNote?: string;
  readonly tail: readonly Piece[];
}

/** Whether a range was cut out of a stream, so that a part of a secret may be at its edges. */
export interface Edges {
  readonly cutBefore: boolean;
  readonly cutAfter: boolean;
}

/** Masks secrets in a stream, even when they span two chunks. */
export type OutputMask = (chunks: Iterable<Buffer>, edges: Edges) => Iterable<Buffer>;

export interface WriteLogOptions {
  /** Lines before the output, without `==`. With titles the log is appended to. */
  readonly titles?: readonly string[];
  readonly mask?: OutputMask | undefined;
}

/** The text of a log whose output is in memory. */
export function composeLog(streams: readonly LogStream[]): Buffer {
  return Buffer.concat([...withLineEnds(streams.flatMap((stream) => runsOf(stream, unmasked)))]);
}

/** Creates the folder and the file. Output in memory is written at once; files are copied in chunks. */
export async function writeLog(
  logPath: string,
  streams: readonly LogStream[],
  { titles = [], mask = unmasked }: WriteLogOptions = {},
): Promise<void> {
  const runs = streams.flatMap((stream) => runsOf(stream, mask));
  const parts = withLineEnds([...titles.map((title) => `== ${title} ==`), ...runs]);
  const flag = titles.length > 0 ? "a" : "w";
  mkdirSync(dirname(logPath), { recursive: true, mode: PRIVATE_FOLDER });
  if (streams.every(isInMemory)) {
    writeFileSync(logPath, Buffer.concat([...parts]), { flag, mode: PRIVATE_FILE });
    return;
  }
  const log = await open(logPath, flag, PRIVATE_FILE);
  try {
    for (const chunk of parts) await log.writeFile(chunk);
  } finally {
    await log.close();
  }
}

function unmasked(chunks: Iterable<Buffer>): Iterable<Buffer> {
  return chunks;
}

function isInMemory(stream: LogStream): boolean {
  return stream.head.every(Buffer.isBuffer) && stream.tail.every(Buffer.isBuffer);
}

/** A string is a title, which starts on a new line; anything else is bytes of the stream. */
type Run = string | Iterable<Buffer>;

function runsOf({ name, bytes, head, droppedNote, tail }: LogStream, mask: OutputMask): Run[] {
  const title = `== ${name} (${bytes} bytes) ==`;
  if (droppedNote === undefined) {
    return [title, mask(chunksOfAll([...head, ...tail]), { cutBefore: false, cutAfter: false })];
  }
  const first = mask(chunksOfAll(head), { cutBefore: false, cutAfter: true });
  const last = mask(chunksOfAll(tail), { cutBefore: true, cutAfter: false });
  return [title, first, `== ${droppedNote} ==`, last];
}

const NEWLINE = Buffer.from("\n");

function* withLineEnds(runs: readonly Run[]): Generator<Buffer> {
  let last = NEWLINE[0];
  for (const run of runs) {
    if (typeof run === "string" && last !== NEWLINE[0]) yield NEWLINE;
    for (const chunk of typeof run === "string" ? [Buffer.from(`${run}\n`)] : run) {
      last = chunk.at(-1) ?? last;
      yield chunk;
    }
  }
  if (last !== NEWLINE[0]) yield NEWLINE;
}

export function* chunksOfAll(pieces: readonly Piece[]): Generator<Buffer> {
  for (const piece of pieces) yield* chunksOf(piece);
}

const CHUNK_BYTES = 256 * 1024;

/** The buffer of a chunk is reused for the next one. */
export function* chunksOf(piece: Piece): Generator<Buffer> {
  if (Buffer.isBuffer(piece)) {
    yield piece;
    return;
  }
  const fd = openSync(piece.path, "r");
  try {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, piece.bytes));
    for (let done = 0; done < piece.bytes; ) {
      const bytes = readSync(fd, chunk, 0, Math.min(chunk.length, piece.bytes - done), piece.from + done);
      if (bytes === 0) return;
      done += bytes;
      yield chunk.subarray(0, bytes);
    }
  } finally {
    closeSync(fd);
  }
}
