/** Copies the output of successful commands to stdout, one item at a time, after the success is stored. */
import { once } from "node:events";
import { closeSync, createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import type { Writable } from "node:stream";
import { LOG_BYTES_MAX } from "../../attempt/output-watch.ts";
import type { LeasedItem } from "../../item/item.ts";
import type { Outcome, StandardOutput } from "../../item/settlement.ts";
import type { Progress } from "./progress.ts";

type Succeeded = Extract<Outcome, { kind: "succeeded" }>;

/** The number of buffered bytes at which writing and leasing start to wait for the reader of stdout. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

/** The maximum number of outputs waiting to be copied from files; each may hold a file open. */
const WAITING_OUTPUTS_MAX = 64;

const NEWLINE = 10;

/** The progress display on the same terminal. */
type Beside = Pick<Progress, "suspend" | "note">;

export class CommandOutput {
  readonly #stdout: Writable;
  readonly #beside: Beside | null;
  #queue: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isGone = false;

  /** If `beside` is null, nothing is printed. */
  constructor(stdout: Writable, beside: Beside | null) {
    this.#stdout = stdout;
    this.#beside = beside;
    if (beside) {
      stdout.on("error", () => {
        this.#isGone = true; // the reader closed the pipe (`| head`): work continues without output
      });
    }
  }

  print({ itemId }: Pick<LeasedItem, "itemId">, { stdout, log }: Succeeded): void {
    if (this.#beside === null || this.#isGone || !stdout) {
      if (stdout?.fd !== undefined) closeSync(stdout.fd);
      return;
    }
    const { inline, bytes, lost } = stdout;
    if (lost !== undefined) this.#beside.note(`The output of ${itemId} may be incomplete. ${lost}`);
    if (bytes === 0) return;
    if (inline && this.#waiting === 0) this.#write(inline);
    else this.#enqueue(() => this.#copy(stdout, log));
  }

  /** Returns a promise while too much output is pending; undefined otherwise. */
  ready(): Promise<unknown> | undefined {
    if (this.#isGone) return undefined;
    if (this.#waiting > WAITING_OUTPUTS_MAX) return this.#queue;
    return this.#stdout.writableLength < WAITING_BYTES_MAX ? undefined : this.#drained();
  }

  /** Resolves when all output is written. */
  async flushed(): Promise<void> {
    await this.#queue;
    if (!this.#isGone && this.#stdout.writableLength >= WAITING_BYTES_MAX) await this.#drained();
  }

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

  async #copy({ inline, fd, bytes }: StandardOutput, log: string | undefined): Promise<void> {
    if (inline) this.#write(inline);
    else if (fd !== undefined) await this.#copyFile(createReadStream("", { fd, start: 0 }), bytes);
    else if (log !== undefined) await this.#copyLog(log, bytes);
  }

  async #copyFile(file: AsyncIterable<Buffer>, bytes: number): Promise<void> {
    let left = bytes;
    for await (const chunk of file) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      this.#write(part);
      if (this.#stdout.writableLength >= WAITING_BYTES_MAX) await this.#drained();
      if (left === 0 || this.#isGone) return;
    }
  }

  /** Copies stdout from the log, which starts with a title line. The log of a long output omits the middle. */
  async #copyLog(log: string, bytes: number): Promise<void> {
    const start = await endOfFirstLine(log);
    await this.#copyFile(createReadStream(log, { start }), Math.min(bytes, LOG_BYTES_MAX));
  }

  #enqueue(job: () => Promise<unknown>): void {
    this.#waiting += 1;
    const done = () => {
      this.#waiting -= 1;
    };
    this.#queue = this.#queue.then(job).then(done, done); // a missing log must not fail a successful item
  }
}

/** Returns the offset of the second line. The first line is a short title. */
async function endOfFirstLine(path: string): Promise<number> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(256), position: 0 });
    return buffer.subarray(0, bytesRead).indexOf(NEWLINE) + 1;
  } finally {
    await file.close();
  }
}
