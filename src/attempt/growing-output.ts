/** Reads the output of one attempt while it grows: from the files of its running processes, then from its log. */
import { codeOf } from "../std/thrown.ts";
import { findLog, type LogRange } from "./log-segments.ts";
import { readRange, sizeOf } from "./output.ts";
import { isPublished, LOG_BYTES_MAX, type RunningOutput } from "./output-watch.ts";

type StreamName = "stdout" | "stderr";

/** Bytes of a stream, or a title in the log, e.g. `step 2: shell: cargo test (exit 101, 1.2 s)`. */
export type OutputPart =
  | { readonly stream: StreamName; readonly bytes: Buffer; readonly isAgentStream?: boolean }
  | { readonly title: string };

const CHUNK_BYTES = 256 * 1024;
const TITLE_BYTES_MAX = 64 * 1024;
const NEWLINE = 10;

interface ReadSoFar {
  readonly raw: Record<StreamName, number>;
  /** Larger than `raw` when a file was cut while it was written. */
  readonly total: Record<StreamName, number>;
}

export class GrowingOutput {
  readonly log: string;
  /** The location of the log in a segment if it has no file of its own. */
  #range: LogRange | undefined;
  /** False when the log is masked, because its byte counts are those before masking. */
  readonly #isExact: boolean;
  #at: number;
  /** How much was read from running processes, by their titles in the log. */
  readonly #seen = new Map<string, ReadSoFar>();
  #title = "";

  /** `from` is the position in the log at which to start. */
  constructor(log: string, { isExact, from = 0 }: { readonly isExact: boolean; readonly from?: number }) {
    this.log = log;
    this.#isExact = isExact;
    this.#at = from;
  }

  get hasLog(): boolean {
    return this.#file.bytes > 0;
  }

  get #file(): LogRange {
    return this.#range ?? { path: this.log, from: 0, bytes: sizeOf(this.log) };
  }

  /** Yields new output. Read `records` before calling this, so that the log is not older than the records. */
  *read(records: readonly RunningOutput[], hasEnded: boolean): Generator<OutputPart> {
    if (hasEnded && !this.hasLog) this.#range = findLog(this.log) ?? undefined;
    yield* this.#readLog(hasEnded);
    if (hasEnded) return;
    for (const record of records) if (record.log === this.log) yield* this.#readRunning(record);
  }

  *#readRunning(record: RunningOutput): Generator<OutputPart> {
    const seen = this.#seenOf(record.title ?? "");
    for (const stream of ["stdout", "stderr"] as const) {
      for (;;) {
        const size = sizeOf(record[stream]);
        if (size < seen.raw[stream]) seen.raw[stream] = 0; // the file was truncated because it was too large
        const bytes = readOrEmpty(
          { path: record[stream], from: 0 },
          seen.raw[stream],
          Math.min(size, seen.raw[stream] + CHUNK_BYTES),
        );
        // Slots reuse their files: the bytes belong to this attempt only if it is still running.
        if (bytes.length === 0 || !isPublished(record)) break;
        seen.raw[stream] += bytes.length;
        seen.total[stream] += bytes.length;
        const isAgentStream = record.isStream === true && stream === "stdout";
        yield { stream, bytes, ...(isAgentStream && { isAgentStream }) };
        if (isAgentStream) seen.total.stdout = 0; // the log has the complete answer instead
      }
    }
  }

  *#readLog(hasEnded: boolean): Generator<OutputPart> {
    const file = this.#file;
    const size = file.bytes;
    while (this.#at < size) {
      const line = readLine(file, this.#at);
      if (line === null && !hasEnded) return;
      const section = /^== (stdout|stderr) \((\d+) bytes\) ==$/.exec(line ?? "");
      const title = /^== (.*) ==$/.exec(line ?? "")?.[1];
      const bytes = Number(section?.[2]);
      const isWhole = section !== null && this.#isExact && bytes <= LOG_BYTES_MAX;
      const start = this.#at + Buffer.byteLength(line ?? "") + 1;
      if (isWhole && start + bytes > size) {
        if (!hasEnded) return; // still being written
        this.#at = size;
      } else if (isWhole) {
        yield* this.#section(section[1] as StreamName, start, bytes);
      } else if (title !== undefined && section === null) {
        this.#title = [...this.#seen.keys()].find((one) => one !== "" && title.startsWith(`${one} (`)) ?? "";
        this.#at = start;
        yield { title };
      } else {
        yield* ranges(file, this.#at, size, "stdout");
        this.#at = size;
      }
    }
  }

  *#section(stream: StreamName, start: number, bytes: number): Generator<OutputPart> {
    const seen = this.#seen.get(this.#title);
    const skipped = Math.min(bytes, seen?.total[stream] ?? 0);
    yield* ranges(this.#file, start + skipped, start + bytes, stream);
    if (seen) seen.total[stream] = seen.raw[stream] = 0; // a retried step starts from the beginning
    const last = readOrEmpty(this.#file, start + bytes - 1, start + bytes)[0];
    this.#at = start + bytes + (bytes > 0 && last !== NEWLINE ? 1 : 0);
  }

  #seenOf(title: string): ReadSoFar {
    const seen = this.#seen.get(title) ?? { raw: { stdout: 0, stderr: 0 }, total: { stdout: 0, stderr: 0 } };
    this.#seen.set(title, seen);
    return seen;
  }
}

function* ranges(file: LogRange, from: number, to: number, stream: StreamName): Generator<OutputPart> {
  for (let at = from; at < to; ) {
    const bytes = readOrEmpty(file, at, Math.min(to, at + CHUNK_BYTES));
    if (bytes.length === 0) return;
    at += bytes.length;
    yield { stream, bytes };
  }
}

/** Returns the line without its newline; null when the line is not complete yet. */
function readLine(file: LogRange, from: number): string | null {
  const bytes = readOrEmpty(file, from, Math.min(file.bytes, from + TITLE_BYTES_MAX));
  const end = bytes.indexOf(NEWLINE);
  return end < 0 ? null : bytes.toString("utf8", 0, end);
}

/** Empty when the file does not exist: no output yet, or already moved into the log. */
function readOrEmpty(file: Pick<LogRange, "path" | "from">, from: number, to: number): Buffer {
  try {
    return readRange(file.path, file.from + from, to - from);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}
