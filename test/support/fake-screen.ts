/** A fake terminal: interprets the output written to it and returns the visible rows of text. */
import { Writable } from "node:stream";

export class FakeScreen extends Writable {
  columns: number;
  /** The raw output, with escape sequences. */
  raw = "";
  #rows: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(columns = 80) {
    super({ decodeStrings: false });
    this.columns = columns;
  }

  /** The visible text, without trailing blanks and trailing empty rows. */
  get text(): string {
    return this.#rows
      .map((row) =>
        Array.from(row, (cell) => cell ?? " ")
          .join("")
          .trimEnd(),
      )
      .join("\n")
      .trimEnd();
  }

  /** Wraps the rows again after `columns` was changed, as a terminal does when its window is resized. */
  reflow(): void {
    const rows = this.#rows;
    this.#rows = [[]];
    this.#row = 0;
    this.#column = 0;
    for (const [index, row] of rows.entries()) {
      if (index > 0) this.#lineFeed();
      for (const char of row) this.#put(char ?? " ");
    }
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.raw += chunk;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it parses terminal escape sequences
    for (const token of chunk.match(/\x1b\[(\d*)([A-Za-z])|[\s\S]/gu) ?? []) this.#obey(token);
    done();
  }

  #obey(token: string): void {
    if (token === "\r") this.#column = 0;
    else if (token === "\n") this.#lineFeed();
    else if (token.startsWith("\x1b[")) this.#control(token.at(-1) ?? "", Number(token.slice(2, -1) || "1"));
    else this.#put(token);
  }

  #lineFeed(): void {
    this.#row += 1;
    this.#column = 0;
    this.#rows[this.#row] ??= [];
  }

  #control(command: string, count: number): void {
    if (command === "A") this.#row = Math.max(0, this.#row - count);
    else if (command === "K") this.#rows[this.#row] = [];
    else if (command === "J") {
      this.#rows.length = this.#row + 1;
      this.#rows[this.#row]?.splice(this.#column);
    } else if (command !== "m") throw new Error(`the fake screen does not know the sequence ${command}`);
  }

  #put(char: string): void {
    if (char.charCodeAt(0) < 0x20)
      throw new Error(`a control character reached the screen: ${JSON.stringify(char)}`);
    if (this.#column >= this.columns) this.#lineFeed();
    const row = this.#rows[this.#row] ?? [];
    row[this.#column] = char;
    this.#column += 1;
  }
}
