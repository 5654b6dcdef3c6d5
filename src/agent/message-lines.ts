/** Splits the growing output of an agent into its JSON lines. A line may be cut between any two bytes. */
import { isJsonObject, type JsonObject } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";

/** Longer lines are skipped and not kept in memory. */
const LINE_BYTES_MAX = 32 * 1024 * 1024;
const LINE_END = 10;
const MESSAGE_START = "{".charCodeAt(0);

export class MessageLines {
  readonly #onMessage: (message: JsonObject) => void;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Unknown at the start of a line. Only lines that begin with `{` are kept. */
  #isMessage: boolean | undefined;

  constructor(onMessage: (message: JsonObject) => void) {
    this.#onMessage = onMessage;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      this.#isMessage ??= chunk[at] === MESSAGE_START;
      const end = chunk.indexOf(LINE_END, at);
      this.#hold(chunk.subarray(at, end < 0 ? chunk.length : end), end < 0);
      if (end < 0) return;
      this.end();
      at = end + 1;
    }
  }

  /** Passes on the last line, which may lack its newline. An incomplete line is not valid JSON and is skipped. */
  end(): void {
    if (this.#isMessage) {
      const message = parseMessage(Buffer.concat(this.#held).toString("utf8"));
      if (message) this.#onMessage(message);
    }
    this.drop();
  }

  /** Discards the current line, because the following bytes belong to another one. */
  drop(): void {
    [this.#held, this.#heldBytes, this.#isMessage] = [[], 0, undefined];
  }

  #hold(part: Buffer, isReused: boolean): void {
    this.#heldBytes += part.length;
    if (this.#heldBytes > LINE_BYTES_MAX) this.#isMessage = false;
    if (this.#isMessage) this.#held.push(isReused ? Buffer.from(part) : part);
    else this.#held = [];
  }
}

export function parseMessage(line: string): JsonObject | undefined {
  const json: unknown = tryTo(() => JSON.parse(line));
  return isJsonObject(json) ? json : undefined;
}
