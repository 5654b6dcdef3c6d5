/** Truncates the output of runaway commands before it fills the disk, and publishes running output for `redrive logs`. */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { BriefMap } from "../std/brief-map.ts";
import { tryTo } from "../std/try-to.ts";
import { readAt, sizeOf } from "./output.ts";

/** An output that was truncated while it was written. */
export interface Cut {
  /** The file with the first bytes. */
  readonly headPath: string;
  readonly headBytes: number;
  /** How many bytes after the head were removed. A few more may be lost and not counted. */
  readonly removedBytes: number;
  /** The last of the removed bytes. */
  readonly recent: Buffer;
}

export const LOG_BYTES_MAX = 64 * 1024 * 1024;
/** Output that must be complete is truncated only when less space than this is free. */
const ROOM_BYTES_MIN = 256 * 1024 * 1024;
const RECENT_BYTES_MAX = 64 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const TICK_MS = 500;

/** The runner adds the paths of an attempt at its start, calls `tick` regularly, and takes the cuts at its end. */
export class OutputWatch {
  readonly #logBytesMax: number;
  readonly #roomBytesMin: number;
  readonly #cuts = new BriefMap<string, Cut | undefined>();
  readonly #wanted = new Set<string>();
  readonly #running = new BriefMap<
    string,
    { readonly output: RunningOutput; isNew: boolean; isPublished: boolean }
  >();

  /** A running file may be twice as large as `logBytesMax`, the limit of a stream in the log. */
  constructor({ logBytesMax = LOG_BYTES_MAX, roomBytesMin = ROOM_BYTES_MIN } = {}) {
    this.#logBytesMax = logBytesMax;
    this.#roomBytesMin = roomBytesMin;
  }

  add(path: string, { isWantedWhole = false }: { readonly isWantedWhole?: boolean } = {}): void {
    this.#cuts.set(path, undefined);
    if (isWantedWhole) this.#wanted.add(path);
  }

  /** Publishes the output at the second tick, because most processes end before it and creating a file is slow. */
  announce(output: RunningOutput): void {
    this.#running.set(output.stdout, { output, isNew: true, isPublished: false });
  }

  /** Stops watching a path. Returns undefined when it was never truncated. */
  take(path: string): Cut | undefined {
    const cut = this.#cuts.get(path);
    this.#cuts.delete(path);
    this.#wanted.delete(path);
    const running = this.#running.get(path);
    if (running?.isPublished) rmSync(`${path}${SUFFIX}`, { force: true });
    this.#running.delete(path);
    return cut;
  }

  /** Calls `tick` regularly until the returned function is called. */
  startTicking(): () => void {
    const ticking = setInterval(() => this.tick(), TICK_MS);
    return () => clearInterval(ticking);
  }

  tick(): void {
    for (const [path, cut] of this.#cuts) {
      if (this.#wanted.has(path) && this.#hasRoom(path)) continue;
      const next = cutIfLarge(path, cut, this.#logBytesMax);
      if (next) this.#cuts.set(path, next);
    }
    for (const running of this.#running.values()) {
      if (!running.isNew) running.isPublished ||= publish(running.output);
      running.isNew = false;
    }
  }

  #hasRoom(path: string): boolean {
    const { bavail, bsize } = tryTo(() => statfsSync(path)) ?? { bavail: Number.POSITIVE_INFINITY, bsize: 1 };
    return bavail * bsize >= this.#roomBytesMin;
  }
}

function cutIfLarge(path: string, earlier: Cut | undefined, logBytesMax: number): Cut | undefined {
  if (sizeOf(path) <= 2 * logBytesMax) return undefined; // also if there is no file, which is usual
  const fd = tryTo(() => openSync(path, "r+"));
  if (fd === undefined) return undefined; // already collected
  try {
    const bytes = fstatSync(fd).size;
    if (bytes <= 2 * logBytesMax) return undefined; // the slot has started another file
    const { headPath, headBytes } = earlier ?? saveHead(fd, path, Math.floor(logBytesMax / 2));
    const recentBytes = Math.min(bytes, RECENT_BYTES_MAX);
    const recent = readAt(fd, bytes - recentBytes, recentBytes);
    // Writers append, so they continue at the new end of the file.
    ftruncateSync(fd, 0);
    const removedBytes = earlier ? earlier.removedBytes + bytes : bytes - headBytes;
    return { headPath, headBytes, removedBytes, recent };
  } finally {
    closeSync(fd);
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

export interface RunningOutput {
  /** The path of the future log, which identifies the attempt. */
  readonly log: string;
  readonly stdout: string;
  readonly stderr: string;
  /** The beginning of the title in the log; absent for the command of a map. */
  readonly title?: string;
  /** Whether standard output is an agent's JSON stream, which the log does not contain. */
  readonly isStream?: boolean;
}

const SUFFIX = ".running.json";

/** Writes the record. If this fails, the output is visible only after the attempt has ended. */
function publish(output: RunningOutput): boolean {
  const record = JSON.stringify(output);
  const write = () => writeFileSync(`${output.stdout}${SUFFIX}`, record, { mode: 0o600 });
  return tryTo(() => write() === undefined) ?? false; // retried at the next tick
}
/** Returns the records of running attempts. Killed runners may have left records of ended attempts. */
export function readRunning(runningFolder: string): RunningOutput[] {
  const runs = namesIn(runningFolder).map((run) => join(runningFolder, run));
  const paths = runs.flatMap((run) => namesIn(run).map((name) => join(run, name)));
  return paths.filter((path) => path.endsWith(SUFFIX)).flatMap(readRecord);
}

/** Whether the process still publishes this output. Its output files may be reused after it has ended. */
export function isPublished(output: RunningOutput): boolean {
  return readRecord(`${output.stdout}${SUFFIX}`).some(({ log }) => log === output.log);
}

/** Empty when nothing has run yet, or the run has ended. */
function namesIn(folder: string): string[] {
  return tryTo(() => readdirSync(folder).sort()) ?? [];
}

/** Empty if the record was removed in the meantime or is not completely written. */
function readRecord(path: string): RunningOutput[] {
  return tryTo(() => [JSON.parse(readFileSync(path, "utf8")) as RunningOutput]) ?? [];
}
