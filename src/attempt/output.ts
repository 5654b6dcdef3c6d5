/** One output stream of a process that has ended: the part that was cut off while it ran, then the rest. */
import { closeSync, openSync, readSync, rmSync, statSync } from "node:fs";
import type { Captured } from "./launch.ts";
import { chunksOf, type LogStream, type OutputMask, type Piece } from "./output-log.ts";
import type { Cut } from "./output-watch.ts";

export class Output {
  /** The number of bytes that were ever written. */
  readonly bytes: number;
  /** False when a part is lost. */
  readonly isWhole: boolean;
  readonly #name: "stdout" | "stderr";
  readonly #captured: Captured;
  readonly #path: string;
  readonly #cut: Cut | undefined;

  constructor(name: "stdout" | "stderr", captured: Captured, path: string, cut: Cut | undefined) {
    this.#name = name;
    this.#captured = cut ? recount(captured, path) : captured;
    this.#path = path;
    this.#cut = cut;
    this.isWhole = cut === undefined;
    this.bytes = this.#captured.bytes + (cut ? cut.headBytes + cut.removedBytes : 0);
  }

  /** The end of the stream as text for a failure record. */
  tail(bytesMax: number, mask?: OutputMask): string {
    if (this.bytes === 0) return "";
    const last = this.#lastBytes(Math.min(this.#captured.bytes, bytesMax));
    const bytes = this.#cut ? Buffer.concat([this.#cut.recent, last]) : last;
    const isWhole = bytes.length === this.bytes;
    if (!mask) return tailText(bytes, bytesMax, isWhole);
    const shown = bytes.subarray(Math.max(0, bytes.length - bytesMax));
    const isCut = !isWhole || shown.length < bytes.length;
    return tailText(
      Buffer.concat([...mask([shown], { cutBefore: isCut, cutAfter: false })]),
      bytesMax,
      !isCut,
    );
  }

  /** The parts that a log keeps. */
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

  /** The existing bytes in chunks. A chunk is valid only until the next one is read. */
  chunks(): Iterable<Buffer> {
    return this.#captured.bytes === 0 ? [] : chunksOf(this.#range(0, this.#captured.bytes));
  }

  removeFiles(): void {
    if (!this.#captured.inline) rmSync(this.#path, { force: true });
    if (this.#cut) rmSync(this.#cut.headPath, { force: true });
  }

  #partsOfCut(cut: Cut, half: number): Pick<LogStream, "head" | "droppedNote" | "tail"> {
    const lastBytes = Math.min(this.#captured.bytes, half);
    const last = lastBytes > 0 ? [this.#range(this.#captured.bytes - lastBytes, lastBytes)] : [];
    // The bytes before the cut belong directly before the ones after it, unless some of those are dropped too.
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

/** The cut may have happened after the command had ended but before it was noticed; then the count is outdated. */
function recount(captured: Captured, path: string): Captured {
  return captured.inline ? captured : { bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0 };
}

function readRange(path: string, from: number, count: number): Buffer {
  if (count === 0) return Buffer.alloc(0);
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(count);
    return bytes.subarray(0, readSync(fd, bytes, 0, count, from));
  } finally {
    closeSync(fd);
  }
}

/** The prefix of a tail that is not the whole output. */
export const CUT_MARK = "… ";

/** UTF-8 with invalid bytes replaced and without NUL, which stores refuse. `isWhole` means that nothing came before. */
export function tailText(bytes: Buffer, bytesMax: number, isWhole = true): string {
  if (isWhole && bytes.length <= bytesMax) return decode(bytes);
  const tail = bytes.subarray(Math.max(0, bytes.length - bytesMax));
  return CUT_MARK + decode(tail.subarray(brokenStartBytes(tail)));
}

function decode(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return text.includes("\0") ? text.replaceAll("\0", "") : text;
}

/** How many bytes at the start belong to a character whose first byte was cut off. */
function brokenStartBytes(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && isContinuation(bytes[count])) count++;
  return count;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
