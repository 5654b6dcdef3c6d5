/** Writes logs of successes to segments, all of the attempts that are settled together in one step. */
import { LogSegments, type PendingLog } from "./log-segments.ts";

/** Logs in memory are written at once when they are this large together. */
const PENDING_BYTES_MAX = 1024 * 1024;

export class LogWriter {
  readonly #segments: LogSegments;
  #pending: PendingLog[] = [];
  #pendingBytes = 0;
  /** Logs that could not be written; `close` tries them once more. */
  #refused: PendingLog[] = [];

  constructor(now: () => number) {
    this.#segments = new LogSegments(now);
  }

  /** Keeps the log for the next `write`. Returns false after a failed one: the attempt must then write its log itself. */
  add(path: string, bytes: Buffer): boolean {
    if (this.#refused.length > 0) return false;
    this.#pending.push({ path, bytes });
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= PENDING_BYTES_MAX) this.write();
    return true;
  }

  /** Writes what is left. Returns how many logs could not be written. */
  close(): number {
    this.#pending.unshift(...this.#refused.splice(0));
    this.write();
    this.#segments.close();
    return this.#refused.length;
  }

  /** Call before the attempts are settled, so that a settled success has its log. */
  write(): void {
    const logs = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    try {
      this.#segments.append(logs);
    } catch {
      this.#refused.push(...logs); // `add` and `close` report the failure
      this.#segments.close();
    }
  }
}
