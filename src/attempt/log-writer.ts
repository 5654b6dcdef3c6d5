/** Writes logs of successes to segments, several at a time, just after the attempts have ended. */
import { LogSegments, type PendingLog } from "./log-segments.ts";

/** Logs in memory are written at once when they are this large together. */
const PENDING_BYTES_MAX = 1024 * 1024;

export class LogWriter {
  readonly #segments: LogSegments;
  #pending: PendingLog[] = [];
  #pendingBytes = 0;
  #scheduled: NodeJS.Immediate | undefined;
  /** Logs that could not be written; `close` tries them once more. */
  #refused: PendingLog[] = [];

  constructor(now: () => number) {
    this.#segments = new LogSegments(now);
  }

  /** Returns false after a failed write. The attempt must then write its log itself. */
  add(path: string, bytes: Buffer): boolean {
    if (this.#refused.length > 0) return false;
    this.#pending.push({ path, bytes });
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= PENDING_BYTES_MAX) this.#write();
    else this.#scheduled ??= setImmediate(() => this.#write());
    return true;
  }

  /** Writes what is left. Returns how many logs could not be written. */
  close(): number {
    this.#pending.unshift(...this.#refused.splice(0));
    this.#write();
    this.#segments.close();
    return this.#refused.length;
  }

  #write(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
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
