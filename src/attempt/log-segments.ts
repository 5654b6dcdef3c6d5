/**
 * The logs of successes with little output, many in one file, because a file for each would cost more than a short command.
 * A segment is written by one process and only appended to; its folder is `.segments` next to the log folders of the items.
 *
 *   {process}-{random}.log     for each log a line `=== {item}/{attempt}.log (123 bytes) ===`, then its bytes
 *   {process}-{random}.index   for each log a record: u32 hash, u32 hash, u64 position, u32 length of the line, u32 bytes
 *
 * A record is written after its log, so a killed process leaves at most a log without a record.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readdirSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PRIVATE_FILE, PRIVATE_FOLDER, replaceUnflushed } from "../std/files.ts";
import { randomName } from "../std/random.ts";
import { tryTo } from "../std/try-to.ts";
import { readRange } from "./output.ts";

/** The location of a log's bytes. */
export interface LogRange {
  readonly path: string;
  readonly from: number;
  readonly bytes: number;
}

export interface PendingLog {
  /** The path of the log according to its item and attempt: `{job}/{item}/{attempt}.log`. */
  readonly path: string;
  readonly bytes: Buffer;
}

const RECORD_BYTES = 24;
/** A new segment begins at these limits, so that retention can delete old logs. */
const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const SEGMENT_AGE_MS_MAX = 3_600_000;

export class LogSegments {
  readonly #now: () => number;
  #open: Segment | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** All logs must belong to one job. If they cannot be written, throws and leaves none of them. */
  append(logs: readonly PendingLog[]): void {
    const [first] = logs;
    if (first === undefined) return;
    const isFull = this.#open !== undefined && this.#open.bytes > SEGMENT_BYTES_MAX;
    const isOld = this.#open !== undefined && Math.abs(this.#now() - this.#open.since) > SEGMENT_AGE_MS_MAX;
    if (isFull || isOld) this.close();
    this.#open ??= new Segment(segmentsFolder(dirname(dirname(first.path))), this.#now());
    this.#open.append(logs);
  }

  close(): void {
    this.#open?.close();
    this.#open = undefined;
  }
}

class Segment {
  readonly since: number;
  bytes = 0;
  #records = 0;
  readonly #log: number;
  readonly #index: number;

  constructor(folder: string, since: number) {
    this.since = since;
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    const path = join(folder, `${process.pid}-${randomName(8)}`);
    this.#log = openSync(`${path}.log`, "wx", PRIVATE_FILE);
    this.#index = openSync(`${path}.index`, "wx", PRIVATE_FILE);
  }

  append(logs: readonly PendingLog[]): void {
    const pieces: Buffer[] = [];
    const index = Buffer.alloc(logs.length * RECORD_BYTES);
    let position = this.bytes;
    for (const [number, { path, bytes }] of logs.entries()) {
      const name = nameOf(path);
      const line = Buffer.from(lineOf(name, bytes.length));
      let at = number * RECORD_BYTES;
      for (const hash of hashesOf(name)) at = index.writeUInt32LE(hash, at);
      at = index.writeBigUInt64LE(BigInt(position), at);
      at = index.writeUInt32LE(line.length, at);
      index.writeUInt32LE(bytes.length, at);
      pieces.push(line, bytes);
      position += line.length + bytes.length;
    }
    try {
      writeAll(this.#log, Buffer.concat(pieces), this.bytes);
      writeAll(this.#index, index, this.#records * RECORD_BYTES);
    } catch (error) {
      tryTo(() => ftruncateSync(this.#index, this.#records * RECORD_BYTES));
      tryTo(() => ftruncateSync(this.#log, this.bytes));
      throw error;
    }
    this.bytes = position;
    this.#records += logs.length;
  }

  close(): void {
    closeSync(this.#log);
    closeSync(this.#index);
  }
}

/** Finds a log by its path: in its own file, or in a segment. Null if there is neither. */
export function findLog(path: string): LogRange | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return { path, from: 0, bytes: found.size };
  for (const segment of segmentsOf(dirname(dirname(path)))) {
    const range = tryTo(() => findIn(segment, nameOf(path))) ?? null; // retention may have deleted it
    if (range !== null) return range;
  }
  return null;
}

/** Writes a log of a segment to its own path, for programs that read the file. Does nothing if it cannot be written. */
export function restoreLog(path: string): void {
  const found = findLog(path);
  if (found === null || found.path === path) return;
  tryTo(() => {
    mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
    replaceUnflushed(path, readRange(found.path, found.from, found.bytes));
  });
}

type SegmentFiles = ReturnType<typeof segmentsOf>[number];

/** The segments of a job, newest first, with the number of their logs. */
export function segmentsOf(jobFolder: string) {
  const folder = segmentsFolder(jobFolder);
  const names = tryTo(() => readdirSync(folder)) ?? [];
  return names
    .filter((name) => name.endsWith(".log"))
    .map((name) => {
      const log = join(folder, name);
      const index = `${log.slice(0, -".log".length)}.index`;
      const { size = 0, mtimeMs = 0 } = statSync(index, { throwIfNoEntry: false }) ?? {};
      return { log, index, logs: Math.floor(size / RECORD_BYTES), mtimeMs };
    })
    .sort((one, other) => other.mtimeMs - one.mtimeMs);
}

const RECORDS_AT_ONCE = 4096;

/** Searches from the end, because the logs of a running job are followed as they are written. */
function findIn({ log, index, logs }: SegmentFiles, name: string): LogRange | null {
  for (let end = logs; end > 0; end -= RECORDS_AT_ONCE) {
    const start = Math.max(0, end - RECORDS_AT_ONCE);
    const records = readRange(index, start * RECORD_BYTES, (end - start) * RECORD_BYTES);
    const range = findAmong(records, log, name);
    if (range !== null) return range;
  }
  return null;
}

function findAmong(records: Buffer, log: string, name: string): LogRange | null {
  const [first, second] = hashesOf(name);
  for (let at = 0; at + RECORD_BYTES <= records.length; at += RECORD_BYTES) {
    if (records.readUInt32LE(at) !== first || records.readUInt32LE(at + 4) !== second) continue;
    const position = Number(records.readBigUInt64LE(at + 8));
    const [lineBytes, bytes] = [records.readUInt32LE(at + 16), records.readUInt32LE(at + 20)];
    const line = readRange(log, position, lineBytes).toString();
    if (line === lineOf(name, bytes)) return { path: log, from: position + lineBytes, bytes };
  }
  return null;
}

function segmentsFolder(jobFolder: string): string {
  return join(jobFolder, ".segments");
}

function nameOf(path: string): string {
  return `${basename(dirname(path))}/${basename(path)}`;
}

function lineOf(name: string, bytes: number): string {
  return `=== ${name} (${bytes} bytes) ===\n`;
}

/** Two FNV-1a hashes. The line in the segment distinguishes different names with equal hashes. */
function hashesOf(name: string): readonly [number, number] {
  let [first, second] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second ^ (code + at), 0x85ebca6b);
  }
  return [first >>> 0, second >>> 0];
}

function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
}
