/**
 * The output of an ended process, and the log of an attempt. Both may be far larger than memory. The log:
 *
 *   == stdout (12 bytes) ==      only if there was output
 *   the bytes, and a newline if they do not end with one
 *   == stderr (5 bytes) ==
 *
 * A log of several steps has these sections under the title of each step. If a stream exceeds the limit, its first and
 * last part are kept, with a line between them that states how many bytes were dropped.
 */
import { closeSync, mkdirSync, openSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../std/files.ts";
import type { KeepOutputOptions } from "./capture.ts";
import type { Captured } from "./launch.ts";
import type { Cut } from "./output-watch.ts";

export class Output {
  readonly bytes: number;
  readonly isWhole: boolean;
  readonly #name: "stdout" | "stderr";
  readonly #captured: Captured;
  readonly #path: string;
  readonly #cut: Cut | undefined;

  constructor(name: "stdout" | "stderr", captured: Captured, path: string, cut: Cut | undefined) {
    this.#name = name;
    // The file may have been cut after the command ended but before its size was reported; then the size is outdated.
    this.#captured = cut && !captured.inline ? { bytes: sizeOf(path) } : captured;
    this.#path = path;
    this.#cut = cut;
    this.isWhole = cut === undefined;
    this.bytes = this.#captured.bytes + (cut ? cut.headBytes + cut.removedBytes : 0);
  }

  tail(bytesMax: number, mask?: OutputMask): string {
    if (this.bytes === 0) return "";
    const last = this.#lastBytes(Math.min(this.#captured.bytes, bytesMax));
    const bytes = this.#cut ? Buffer.concat([this.#cut.recent, last]) : last;
    const isWhole = bytes.length === this.bytes;
    if (!mask) return tailText(bytes, bytesMax, isWhole);
    const shown = bytes.subarray(Math.max(0, bytes.length - bytesMax));
    const isCut = !isWhole || shown.length < bytes.length;
    const masked = Buffer.concat([...mask([shown], { cutBefore: isCut, cutAfter: false })]);
    return tailText(masked, bytesMax, !isCut);
  }

  /** Returns the parts of the output that a log keeps. */
  forLog(bytesMax: number): LogStream {
    const half = Math.floor(bytesMax / 2);
    const there = this.#captured.bytes;
    const about = { name: this.#name, bytes: this.bytes };
    if (this.#cut) return { ...about, ...this.#partsOfCut(this.#cut, half) };
    if (there <= bytesMax) return { ...about, head: [this.#range(0, there)], tail: [] };
    return {
      ...about,
      head: [this.#range(0, half)],
      droppedNote: `${there - 2 * half} bytes dropped`,
      tail: [this.#range(there - half, half)],
    };
  }

  /** The bytes that `chunks` yields: fewer than `bytes` if the output was cut. */
  get fileBytes(): number {
    return this.#captured.bytes;
  }

  /** Yields the stored bytes in chunks. A chunk is valid only until the next one is read. */
  chunks(from = 0): Iterable<Buffer> {
    const bytes = this.#captured.bytes - from;
    return bytes <= 0 ? [] : chunksOf(this.#range(from, bytes));
  }

  removeFiles(): void {
    if (!this.#captured.inline) rmSync(this.#path, { force: true });
    if (this.#cut) rmSync(this.#cut.headPath, { force: true });
  }

  #partsOfCut(cut: Cut, half: number): Pick<LogStream, "head" | "droppedNote" | "tail"> {
    const lastBytes = Math.min(this.#captured.bytes, half);
    const last = lastBytes > 0 ? [this.#range(this.#captured.bytes - lastBytes, lastBytes)] : [];
    // The bytes before the cut directly precede those after it, unless some of the latter are dropped too.
    const recent = lastBytes === this.#captured.bytes ? cut.recent : Buffer.alloc(0);
    const droppedBytes = this.bytes - cut.headBytes - recent.length - lastBytes;
    return {
      head: [{ path: cut.headPath, from: 0, bytes: cut.headBytes }],
      droppedNote: `at least ${droppedBytes} bytes dropped while the command ran`,
      tail: [recent, ...last],
    };
  }

  #range(from: number, bytes: number): Piece {
    const { inline } = this.#captured;
    return inline ? inline.subarray(from, from + bytes) : { path: this.#path, from, bytes };
  }

  #lastBytes(count: number): Buffer {
    const range = this.#range(this.#captured.bytes - count, count);
    return Buffer.isBuffer(range) ? range : readRange(range.path, range.from, count);
  }
}

/** The size of a file, or 0 if there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export function readRange(path: string, from: number, count: number): Buffer {
  if (count <= 0) return Buffer.alloc(0);
  const fd = openSync(path, "r");
  try {
    return readAt(fd, from, count);
  } finally {
    closeSync(fd);
  }
}

export function readAt(fd: number, from: number, count: number): Buffer {
  const bytes = Buffer.alloc(count);
  return bytes.subarray(0, readSync(fd, bytes, 0, count, from));
}

/** The prefix of a tail that is not the whole output. */
const CUT_MARK = "… ";

/** Decodes UTF-8 without NUL, which stores reject. `isWhole` means that `bytes` is the whole output. */
export function tailText(bytes: Buffer, bytesMax: number, isWhole = true): string {
  if (isWhole && bytes.length <= bytesMax) return decode(bytes);
  const tail = bytes.subarray(Math.max(0, bytes.length - bytesMax));
  let broken = 0; // bytes at the start of a character whose first byte was cut off
  while (broken < 3 && ((tail[broken] ?? 0) & 0xc0) === 0x80) broken++;
  return CUT_MARK + decode(tail.subarray(broken));
}

function decode(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return text.includes("\0") ? text.replaceAll("\0", "") : text;
}

/** A part of a stream: bytes in memory, or a range of a file. */
type Piece = Buffer | { readonly path: string; readonly from: number; readonly bytes: number };

export interface LogStream {
  readonly name: "stdout" | "stderr";
  readonly bytes: number;
  readonly head: readonly Piece[];
  readonly droppedNote?: string;
  readonly tail: readonly Piece[];
}

/** Whether a range was cut out of a stream, so that its edges may contain parts of a secret. */
export interface Edges {
  readonly cutBefore: boolean;
  readonly cutAfter: boolean;
}

/** Masks secrets in a stream, even when they span two chunks. */
export type OutputMask = (chunks: Iterable<Buffer>, edges: Edges) => Iterable<Buffer>;

export function composeLog(streams: readonly LogStream[]): Buffer {
  return Buffer.concat([...withLineEnds(streams.flatMap((stream) => runsOf(stream, unmasked)))]);
}

/** Creates the folder and the file. Output in memory is written in one call; files are copied in chunks. */
export async function writeLog(
  logPath: string,
  streams: readonly LogStream[],
  { titles = [], mask = unmasked }: Partial<Pick<KeepOutputOptions, "titles" | "mask">> = {},
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

/** Yields chunks that share one buffer, so each is valid only until the next. */
function* chunksOf(piece: Piece): Generator<Buffer> {
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
