/** One output stream of a process that has ended: what was cut off while it was written, then what is there now. */
import { closeSync, openSync, readSync, rmSync, statSync } from "node:fs";
import type { Captured } from "./launch.ts";
import { chunksOf, type LogStream, type OutputMask, type Piece } from "./output-log.ts";
import { tailText } from "./output-tail.ts";
import type { Cut } from "./output-watch.ts";

export class Output {
  /** All that was written to it. */
  readonly bytes: number;
  /** False when a part of it is lost. */
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

  /** Its end as text that fits a record. */
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

  /** What a log keeps of it. */
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

  /** What is there of it, a chunk at a time; a chunk is only good until the next one is asked for. */
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
    // The bytes from before the cut stand right in front of what came after it, unless some of that is dropped too.
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

/** The cut may have come between the end of the command and our hearing of it; then the count is out of date. */
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
