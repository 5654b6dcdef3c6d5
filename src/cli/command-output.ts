/** Copies what successful commands printed to stdout: one item's output at a time, after the store has its success. */

import { once } from "node:events";
import { createReadStream } from "node:fs";
import type { Writable } from "node:stream";
import { LOG_BYTES_MAX } from "../attempt/output-watch.ts";
import type { Outcome } from "../item/outcome.ts";
import type { PersonProgress } from "./person-progress.ts";

type Succeeded = Extract<Outcome, { kind: "succeeded" }>;

/** Writing waits for the reader of stdout from this on, and leasing with it. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

const NEWLINE = 10;

/** The progress that shares the terminal. */
type Beside = Pick<PersonProgress, "suspend">;

export class CommandOutput {
  readonly #stdout: Writable;
  readonly #beside: Beside | null;
  #queue: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isGone = false;

  /** `beside` is the progress that shares the terminal; null prints nothing. */
  constructor(stdout: Writable, beside: Beside | null) {
    this.#stdout = stdout;
    this.#beside = beside;
    // Whoever read the output has seen enough (`| head`): the work goes on, the printing does not.
    if (beside) stdout.on("error", () => this.#stop());
  }

  print({ stdout, log }: Succeeded): void {
    if (this.#beside === null || this.#isGone || !stdout || stdout.bytes === 0) return;
    const { inline, bytes } = stdout;
    if (inline && this.#waiting === 0) this.#write(inline);
    else this.#enqueue(async () => (inline ? this.#write(inline) : log && this.#copy(log, bytes)));
  }

  /** A promise while too much waits to be read; undefined when there is room. */
  ready(): Promise<unknown> | undefined {
    if (this.#isGone || this.#stdout.writableLength < WAITING_BYTES_MAX) return undefined;
    return this.#drained();
  }

  /** Resolves when everything is handed over. */
  async flushed(): Promise<void> {
    await this.#queue;
    await this.ready();
  }

  /** Resolves when the reader has caught up or has gone. */
  async #drained(): Promise<void> {
    const over = new AbortController();
    const signs = ["drain", "close"].map((name) => once(this.#stdout, name, { signal: over.signal }));
    await Promise.race(signs).catch(() => undefined);
    over.abort();
    await Promise.allSettled(signs);
  }

  #write(bytes: Uint8Array): void {
    if (!this.#isGone) this.#beside?.suspend(() => this.#stdout.write(bytes), bytes.at(-1) === NEWLINE);
  }

  /** The log has a line of ours, then the bytes of stdout; of more than it keeps, it has the beginning and the end. */
  async #copy(log: string, bytes: number): Promise<void> {
    let left = -1;
    for await (const chunk of createReadStream(log) as AsyncIterable<Buffer>) {
      const from = left < 0 ? chunk.indexOf(NEWLINE) + 1 : 0;
      if (left < 0) left = Math.min(bytes, LOG_BYTES_MAX);
      const part = chunk.subarray(from, from + left);
      left -= part.length;
      this.#write(part);
      await this.ready();
      if (left === 0 || this.#isGone) return;
    }
  }

  #enqueue(job: () => Promise<unknown>): void {
    this.#waiting += 1;
    const done = () => {
      this.#waiting -= 1;
    };
    this.#queue = this.#queue.then(job).then(done, done); // a log that is gone does not undo its item's success
  }

  #stop(): void {
    this.#isGone = true;
  }
}
