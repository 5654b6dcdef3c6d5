/**
 * Rewrites a few lines in place at the end of a terminal, while other output scrolls above them. The cursor stays visible
 * after the last line, so that a killed process leaves a usable terminal.
 */
import { width } from "./paint.ts";

const CLEAR_BELOW = "\x1b[J";

export class ProgressScreen {
  readonly #stream: NodeJS.WritableStream;
  readonly #columns: () => number;
  #painted: readonly string[] = [];
  #widths: readonly number[] = [];
  /** Whether the last output did not end with a line break. */
  #isLineOpen = false;

  constructor(stream: NodeJS.WritableStream, columns: () => number) {
    this.#stream = stream;
    this.#columns = columns;
  }

  /** Replaces the lines. Each must fit the terminal's width. */
  draw(lines: readonly Line[]): void {
    const painted = lines.map((line) => line.painted);
    if (isSame(painted, this.#painted)) return;
    this.#stream.write(this.#toTop() + this.#closeLine() + painted.join("\n"));
    this.#painted = painted;
    this.#widths = lines.map((line) => width(line.text));
  }

  /** Removes the lines, writes other output, and draws the lines again below it. */
  above(write: () => void, endsLine: boolean): void {
    const isShown = this.#painted.length > 0;
    if (isShown) this.#stream.write(this.#toTop());
    write();
    this.#isLineOpen = !endsLine;
    if (isShown) this.#stream.write(this.#closeLine() + this.#painted.join("\n"));
  }

  print(text: string): void {
    this.above(() => this.#stream.write(`${this.#closeLine()}${text}\n`), true);
  }

  /** Removes the lines and ends an unfinished line of output. */
  erase(): void {
    this.draw([]);
    if (this.#isLineOpen) this.#stream.write(this.#closeLine());
  }

  #closeLine(): string {
    const end = this.#isLineOpen ? "\n" : "";
    this.#isLineOpen = false;
    return end;
  }

  /** Moves to the first line and clears the rest of the screen. */
  #toTop(): string {
    if (this.#painted.length === 0) return "";
    const up = this.#rows() - 1;
    return `\r\x1b[2K${up > 0 ? `\x1b[${up}A` : ""}${CLEAR_BELOW}`;
  }

  /** Counts the rows on the screen: if the terminal became narrower, it has wrapped the lines. */
  #rows(): number {
    const columns = Math.max(1, this.#columns());
    return this.#widths.reduce((sum, own) => sum + Math.max(1, Math.ceil(own / columns)), 0);
  }
}

/** A line of text, without and with colours. */
export interface Line {
  readonly text: string;
  readonly painted: string;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((line, index) => line === others[index]);
}
