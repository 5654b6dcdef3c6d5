/** Writes logs of successes to segments. The logs of attempts that are settled together are written in one step. */
import { LogSegments, type PendingLog } from "./log-segments.ts";

/** Logs in memory are written immediately when their total size reaches this limit. */
const PENDING_BYTES_MAX = 1024 * 1024;

export class LogWriter {
  readonly #segments: LogSegments;
  #pending: PendingLog[] = [];
  #pendingBytes = 0;
  /** Logs that could not be written; `close` retries them once. */
  #refused: PendingLog[] = [];

  constructor(now: () => number) {
    this.#segments = new LogSegments(now);
  }

  /**
   * Queues the log for the next `write`. Returns false after a failed write: the attempt must then write its
   * log itself.
   */
  add(path: string, bytes: Buffer): boolean {
    if (this.#refused.length > 0) return false;
    this.#pending.push({ path, bytes });
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= PENDING_BYTES_MAX) this.write();
    return true;
  }

  /** Writes the remaining logs. Returns how many could not be written. */
  close(): number {
    this.#pending.unshift(...this.#refused.splice(0));
    this.write();
    this.#segments.close();
    return this.#refused.length;
  }

  /** Must be called before the attempts are settled, so that a settled success has its log. */
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
