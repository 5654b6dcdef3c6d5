/**
 * Writes the logs of successful attempts behind their backs. Making a folder and a file takes a journaling disk a
 * millisecond while a database commits beside it, which would be most of a short command's time; whoever succeeded
 * does not have to wait for it. Failures write their logs themselves, before they are settled.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../kit/private-files.ts";

interface Waiting {
  readonly path: string;
  readonly bytes: Buffer;
}

/** As many as Node has threads for. */
const AT_ONCE_MAX = 4;
const WAITING_MAX = 2000;

export class LogWriter {
  #waiting: Waiting[] = [];
  #atWork = 0;
  /** Logs that the disk did not take; they are tried once more at the end. */
  readonly #refused: Waiting[] = [];
  #onIdle: (() => void) | undefined;

  /** False when the disk refuses or is too far behind: then the attempt has to write its log itself. */
  add(path: string, bytes: Buffer): boolean {
    if (this.#refused.length > 0 || this.#waiting.length >= WAITING_MAX) return false;
    this.#waiting.push({ path, bytes });
    this.#workOn();
    return true;
  }

  /** Resolves when everything is written that could be; answers how many could not. */
  async flush(): Promise<number> {
    await this.#idle();
    const again = this.#refused.splice(0);
    for (const one of again) this.#waiting.push(one);
    this.#workOn();
    await this.#idle();
    return this.#refused.length;
  }

  #workOn(): void {
    while (this.#atWork < AT_ONCE_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#atWork += 1;
      void this.#write(next);
    }
    if (this.#atWork === 0) this.#onIdle?.();
  }

  async #write(log: Waiting): Promise<void> {
    try {
      await mkdir(dirname(log.path), { recursive: true, mode: PRIVATE_FOLDER });
      await writeFile(log.path, log.bytes, { mode: PRIVATE_FILE });
    } catch {
      this.#refused.push(log); // heard of by `add` and `flush`
    }
    this.#atWork -= 1;
    this.#workOn();
  }

  async #idle(): Promise<void> {
    if (this.#atWork === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    this.#onIdle = undefined;
  }
}
