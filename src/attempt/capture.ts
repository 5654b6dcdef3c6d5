/**
 * What is kept of an attempt's output: its tails for the record, all of it (up to a limit) in the log file. The
 * output files themselves are gone afterwards.
 */
import { closeSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { WorkError } from "../errors.ts";
import type { Captured, Ended } from "./launch.ts";
import { type LogStream, type Piece, writeLog } from "./output-log.ts";
import { tailText } from "./output-tail.ts";
import { type Cut, LOG_BYTES_MAX } from "./output-watch.ts";

export interface KeepOutputOptions {
  readonly ended: Ended;
  /** Where the log goes. Its folder is made when there is something to write. */
  readonly logPath: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** Kept of each stream in the record. Default 8,192. */
  readonly tailBytesMax?: number;
  /** Kept of each stream in the log. Default 64 MiB. */
  readonly logBytesMax?: number;
  /** What an `OutputWatch` cut off meanwhile. */
  readonly cuts?: { readonly stdout?: Cut | undefined; readonly stderr?: Cut | undefined };
}

export interface KeptOutput {
  readonly stdoutTail: string;
  readonly stderrTail: string;
  /** The path of the log; absent when there was no output. */
  readonly log?: string;
  /** Why there is no log although there was output. */
  readonly logTrouble?: string;
}

const TAIL_BYTES_MAX = 8192;

/** Rejects with a store error when the log cannot be written, as when the disk is full. */
export async function keepOutput(options: KeepOutputOptions): Promise<KeptOutput> {
  const { ended, cuts = {}, tailBytesMax = TAIL_BYTES_MAX, logBytesMax = LOG_BYTES_MAX } = options;
  const stdout = new Output("stdout", ended.stdout, options.stdoutPath, cuts.stdout);
  const stderr = new Output("stderr", ended.stderr, options.stderrPath, cuts.stderr);
  const outputs = [stdout, stderr].filter((output) => output.bytes > 0);
  try {
    const tails = { stdoutTail: stdout.tail(tailBytesMax), stderrTail: stderr.tail(tailBytesMax) };
    if (outputs.length === 0) return tails;
    await writeLog(
      options.logPath,
      outputs.map((output) => output.forLog(logBytesMax)),
    );
    for (const output of outputs) output.removeFiles();
    return { ...tails, log: options.logPath };
  } catch (error) {
    throw asStoreTrouble(error, options.logPath);
  }
}

/** One stream: what was cut off while it was written (usually nothing), then what is there now. */
class Output {
  readonly bytes: number;
  readonly #name: "stdout" | "stderr";
  readonly #captured: Captured;
  readonly #path: string;
  readonly #cut: Cut | undefined;

  constructor(name: "stdout" | "stderr", captured: Captured, path: string, cut: Cut | undefined) {
    this.#name = name;
    this.#captured = cut ? recount(captured, path) : captured;
    this.#path = path;
    this.#cut = cut;
    this.bytes = this.#captured.bytes + (cut ? cut.headBytes + cut.removedBytes : 0);
  }

  tail(bytesMax: number): string {
    if (this.bytes === 0) return "";
    const last = this.#lastBytes(Math.min(this.#captured.bytes, bytesMax));
    const bytes = this.#cut ? Buffer.concat([this.#cut.recent, last]) : last;
    return tailText(bytes, bytesMax, bytes.length === this.bytes);
  }

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

  removeFiles(): void {
    if (!this.#captured.inline) rmSync(this.#path, { force: true });
    if (this.#cut) rmSync(this.#cut.headPath, { force: true });
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

function asStoreTrouble(error: unknown, logPath: string): WorkError {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  return new WorkError(
    isFull ? "store_full" : "store_unavailable",
    `The log ${logPath} could not be written: ${code}.`,
    {
      cause: error,
      hint: isFull ? "Free some space on that disk." : "Check that its folder exists and is writable.",
    },
  );
}
