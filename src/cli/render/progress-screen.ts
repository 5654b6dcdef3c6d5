/**
 * A few lines at the end of a terminal that are rewritten in place, while other output scrolls by above them. The
 * cursor stays visible and behind the last line, so that a process that is killed leaves a usable terminal.
 */
import { width } from "./paint.ts";

const CLEAR_BELOW = "\x1b[J";

export interface ScreenOptions {
  readonly stream: NodeJS.WritableStream;
  readonly columns: () => number;
}

export class ProgressScreen {
  readonly #stream: NodeJS.WritableStream;
  readonly #columns: () => number;
  #painted: readonly string[] = [];
  #widths: readonly number[] = [];
  /** Somebody's output stopped in the middle of a line, and nothing of ours was there to end it. */
  #isLineOpen = false;

  constructor({ stream, columns }: ScreenOptions) {
    this.#stream = stream;
    this.#columns = columns;
  }

  /** Replaces what is shown. Each line has to fit into the terminal. */
  draw(lines: readonly Line[]): void {
    const painted = lines.map((line) => line.painted);
    if (isSame(painted, this.#painted)) return;
    this.#stream.write(this.#toTop() + this.#closeLine() + painted.join("\n"));
    this.#painted = painted;
    this.#widths = lines.map((line) => width(line.text));
  }

  /** Takes the lines away for a while, so that something else can be written where they were. */
  above(write: () => void, endsLine: boolean): void {
    const isShown = this.#painted.length > 0;
    if (isShown) this.#stream.write(this.#toTop());
    write();
    this.#isLineOpen = !endsLine;
    if (isShown) this.#stream.write(this.#closeLine() + this.#painted.join("\n"));
  }

  /** Writes a line of our own above the others. */
  print(text: string): void {
    this.above(() => this.#stream.write(`${this.#closeLine()}${text}\n`), true);
  }

  /** Leaves the terminal as if there had been no lines, ready for what comes next. */
  erase(): void {
    this.draw([]);
    if (this.#isLineOpen) this.#stream.write(this.#closeLine());
  }

  #closeLine(): string {
    const end = this.#isLineOpen ? "\n" : "";
    this.#isLineOpen = false;
    return end;
  }

  /** Goes to where the first line begins and clears all from there on. */
  #toTop(): string {
    if (this.#painted.length === 0) return "";
    const up = this.#rows() - 1;
    return `\r\x1b[2K${up > 0 ? `\x1b[${up}A` : ""}${CLEAR_BELOW}`;
  }

  /** A terminal that was made narrower since has broken the lines. */
  #rows(): number {
    const columns = Math.max(1, this.#columns());
    return this.#widths.reduce((sum, own) => sum + Math.max(1, Math.ceil(own / columns)), 0);
  }
}

/** A line as it is measured and as it is written. */
export interface Line {
  readonly text: string;
  readonly painted: string;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((line, index) => line === others[index]);
}
