/**
 * Keeps a runaway command from filling the disk: an output file that grows past its limit while the command runs is
 * cut back to nothing. Its beginning is saved first; what is lost is counted, and `keepOutput` says so in the log.
 * Output that somebody waits for is cut only when the disk is nearly full. It also publishes where the output of a longer
 * process is.
 */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { publish, type RunningOutput, withdraw } from "./running-output.ts";

/** What is known of an output that was cut while it was written. */
export interface Cut {
  /** The file with the first bytes. */
  readonly headPath: string;
  readonly headBytes: number;
  /** How many bytes after the head were taken off the disk. A few more may have slipped away uncounted. */
  readonly removedBytes: number;
  /** The last of them. */
  readonly recent: Buffer;
}

export interface OutputWatchOptions {
  /** What a log keeps of one stream; a running file may be twice as large. Default 64 MiB. */
  readonly logBytesMax?: number;
  /** Output that is wanted whole is cut when its disk has less room than this. Default 256 MiB. */
  readonly roomBytesMin?: number;
}

export const LOG_BYTES_MAX = 64 * 1024 * 1024;
const ROOM_BYTES_MIN = 256 * 1024 * 1024;
const RECENT_BYTES_MAX = 64 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const TICK_MS = 500;

/** The runner adds an attempt's paths at its start, ticks now and then, and takes the cut, if any, at its end. */
export class OutputWatch {
  readonly #logBytesMax: number;
  readonly #roomBytesMin: number;
  readonly #cuts = new Map<string, Cut | undefined>();
  readonly #wanted = new Set<string>();
  /** By the path of the standard output, with whether their record is written. */
  readonly #running = new Map<string, { readonly output: RunningOutput; isPublished: boolean }>();

  constructor(options: OutputWatchOptions = {}) {
    this.#logBytesMax = options.logBytesMax ?? LOG_BYTES_MAX;
    this.#roomBytesMin = options.roomBytesMin ?? ROOM_BYTES_MIN;
  }

  add(path: string, { isWantedWhole = false }: { readonly isWantedWhole?: boolean } = {}): void {
    this.#cuts.set(path, undefined);
    if (isWantedWhole) this.#wanted.add(path);
  }

  /** Publishes where its output is at the next tick: a short process never pays for it. */
  announce(output: RunningOutput): void {
    this.#running.set(output.stdout, { output, isPublished: false });
  }

  /** Ends the watch over the path. Undefined when it was never cut. */
  take(path: string): Cut | undefined {
    const cut = this.#cuts.get(path);
    this.#cuts.delete(path);
    this.#wanted.delete(path);
    const running = this.#running.get(path);
    if (running?.isPublished) withdraw(running.output);
    this.#running.delete(path);
    return cut;
  }

  /** Ticks by itself until the function that it returns is called. */
  startTicking(): () => void {
    const ticking = setInterval(() => this.tick(), TICK_MS);
    return () => clearInterval(ticking);
  }

  /** Cuts every file that is too large. To be called every half second or so. */
  tick(): void {
    for (const [path, cut] of this.#cuts) {
      if (this.#wanted.has(path) && this.#hasRoom(path)) continue;
      const next = cutIfLarge(path, cut, this.#logBytesMax);
      if (next) this.#cuts.set(path, next);
    }
    for (const running of this.#running.values()) running.isPublished ||= publish(running.output);
  }

  #hasRoom(path: string): boolean {
    try {
      const { bavail, bsize } = statfsSync(path);
      return bavail * bsize >= this.#roomBytesMin;
    } catch {
      return true; // the command has not opened it yet, or its output was collected meanwhile
    }
  }
}

function cutIfLarge(path: string, earlier: Cut | undefined, logBytesMax: number): Cut | undefined {
  const fd = openOrNothing(path);
  if (fd === undefined) return undefined;
  try {
    const bytes = fstatSync(fd).size;
    if (bytes <= 2 * logBytesMax) return undefined;
    const head = earlier ?? saveHead(fd, path, Math.floor(logBytesMax / 2));
    const recent = readAt(fd, bytes - Math.min(bytes, RECENT_BYTES_MAX), Math.min(bytes, RECENT_BYTES_MAX));
    // Its writers append, so they go on at the new end.
    ftruncateSync(fd, 0);
    const removedBytes = earlier ? earlier.removedBytes + bytes : bytes - head.headBytes;
    return { headPath: head.headPath, headBytes: head.headBytes, removedBytes, recent };
  } finally {
    closeSync(fd);
  }
}

/** Nothing when the command has not opened it yet or its output was collected meanwhile. */
function openOrNothing(path: string): number | undefined {
  try {
    return openSync(path, "r+");
  } catch {
    return undefined;
  }
}

function saveHead(fd: number, path: string, bytes: number): { headPath: string; headBytes: number } {
  const headPath = `${path}.head`;
  rmSync(headPath, { force: true });
  const head = openSync(headPath, "wx", 0o600);
  try {
    for (let at = 0; at < bytes; at += CHUNK_BYTES) {
      writeSync(head, readAt(fd, at, Math.min(CHUNK_BYTES, bytes - at)));
    }
  } finally {
    closeSync(head);
  }
  return { headPath, headBytes: bytes };
}

function readAt(fd: number, position: number, bytes: number): Buffer {
  const chunk = Buffer.alloc(bytes);
  return chunk.subarray(0, readSync(fd, chunk, 0, bytes, position));
}
