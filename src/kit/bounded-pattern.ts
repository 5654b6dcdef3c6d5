/**
 * Regular expressions that other people write, matched in bounded time. All ways through the expression are followed at
 * once, one character after the other, so that none is ever tried twice: the time is at most the length of the text times
 * the size of the expression, whatever they are. What cannot be matched so (references back, looking around) is refused.
 */
import { WorkError } from "../errors.ts";

/** Longer expressions are refused, and so are those that repetition makes larger than this. */
export const PATTERN_CHARS_MAX = 200;
const STATES_MAX = 1000;
/** No more of a text than this is looked at. */
export const PATTERN_TEXT_CHARS_MAX = 4096;

/** Whether the text has the pattern somewhere. */
export type BoundedPattern = (text: string) => boolean;

/** Literals, `.`, `[…]`, `\d \w \s`, `\b`, `^`, `$`, `(…)`, `|`, `* + ?` and `{n,m}`; `usage` for anything else. */
export function compilePattern(source: string): BoundedPattern {
  if (source.length > PATTERN_CHARS_MAX) throw refused(`it is longer than ${PATTERN_CHARS_MAX} characters`);
  const machine = new Parser(source).parse();
  return (text) => runs(machine, text.slice(0, PATTERN_TEXT_CHARS_MAX));
}

function refused(why: string): WorkError {
  return new WorkError("usage", `The pattern cannot be used: ${why}.`);
}

/** A place in the text: what stands before it and after it; empty at the ends. */
type Place = (before: string, after: string) => boolean;

/** One step of the machine: to the next state (or states) when its condition holds. */
type State =
  | { readonly kind: "char"; readonly fits: (char: string) => boolean; next: number }
  | { readonly kind: "place"; readonly holds: Place; next: number }
  | { readonly kind: "fork"; next: number; other: number }
  | { readonly kind: "end" };

interface Machine {
  readonly states: readonly State[];
  readonly start: number;
}

/** Built from the back: a part is made when it is known where it leads. */
type Part = (next: number) => number;

class Parser {
  readonly #chars: readonly string[];
  readonly #states: State[] = [{ kind: "end" }];
  #at = 0;

  constructor(source: string) {
    this.#chars = [...source];
  }

  parse(): Machine {
    const whole = this.#alternatives();
    if (this.#at < this.#chars.length) throw refused("a ) has no (");
    return { start: whole(0), states: this.#states };
  }

  #alternatives(): Part {
    const parts = [this.#sequence()];
    while (this.#takes("|")) parts.push(this.#sequence());
    return (next) => {
      const starts = parts.map((part) => part(next));
      return starts.reduceRight((other, start) => this.#add({ kind: "fork", next: start, other }));
    };
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#chars.length && this.#peek() !== "|" && this.#peek() !== ")") {
      parts.push(this.#repeated(this.#atom()));
    }
    return (next) => parts.reduceRight((to, part) => part(to), next);
  }

  #repeated(part: Part): Part {
    const [min, max] = this.#bounds() ?? [1, 1];
    if (this.#takes("?")) return this.#times(part, min, max); // a lazy one fits the same texts
    if (/^[*+?]$/.test(this.#peek()) || this.#isBounds()) throw refused("a repetition is repeated");
    return this.#times(part, min, max);
  }

  #times(part: Part, min: number, max: number): Part {
    return (next) => {
      let to = next;
      if (max === Number.POSITIVE_INFINITY) to = this.#loop(part, next);
      else for (let n = min; n < max; n += 1) to = this.#add({ kind: "fork", next: part(to), other: next });
      for (let n = 0; n < min; n += 1) to = part(to);
      return to;
    };
  }

  #loop(part: Part, next: number): number {
    const fork: State = { kind: "fork", next, other: next };
    const start = this.#add(fork);
    fork.next = part(start);
    return start;
  }

  #bounds(): readonly [number, number] | undefined {
    if (this.#takes("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#takes("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#takes("?")) return [0, 1];
    if (!this.#isBounds()) return undefined;
    const end = this.#chars.indexOf("}", this.#at);
    const [low = "", comma, high = ""] = this.#chars
      .slice(this.#at + 1, end)
      .join("")
      .split(/(,)/);
    this.#at = end + 1;
    const min = Number(low);
    const max = comma === undefined ? min : high === "" ? Number.POSITIVE_INFINITY : Number(high);
    if (max < min) throw refused(`{${low},${high}} is turned around`);
    return [min, max];
  }

  #isBounds(): boolean {
    return /^\{\d{1,3}(,\d{0,3})?\}/.test(this.#chars.slice(this.#at, this.#at + 9).join(""));
  }

  #atom(): Part {
    const char = this.#peek();
    if (/^[*+?]$/.test(char)) throw refused(`there is nothing before ${char}`);
    this.#at += 1;
    if (char === "(") return this.#group();
    if (char === "[") return this.#charThat(this.#class());
    if (char === "\\") return this.#escape();
    if (char === "^") return this.#placeThat((before) => before === "");
    if (char === "$") return this.#placeThat((_, after) => after === "");
    return this.#charThat(char === "." ? "[^\\n]" : literal(char));
  }

  #group(): Part {
    if (this.#takes("?") && !this.#takes(":")) throw refused("(?…) is not understood, except for (?:…)");
    const inner = this.#alternatives();
    if (!this.#takes(")")) throw refused("a ( has no )");
    return inner;
  }

  #class(): string {
    const start = this.#at - 1;
    if (this.#peek() === "^") this.#at += 1;
    while (this.#peek() !== "]") {
      if (this.#at >= this.#chars.length) throw refused("a [ has no ]");
      this.#at += this.#peek() === "\\" ? 2 : 1;
    }
    this.#at += 1;
    return this.#chars.slice(start, this.#at).join("");
  }

  #escape(): Part {
    const char = this.#peek();
    this.#at += 1;
    if (char === "b") return this.#placeThat(isWordEdge);
    if (char === "B") return this.#placeThat((before, after) => !isWordEdge(before, after));
    if (/^[dDwWsSntr]$/.test(char)) return this.#charThat(`\\${char}`);
    if (char === "") throw refused("it ends with a \\");
    if (/^[A-Za-z0-9]$/.test(char)) throw refused(`\\${char} is not understood`);
    return this.#charThat(literal(char));
  }

  #placeThat(holds: Place): Part {
    return (next) => this.#add({ kind: "place", holds, next });
  }

  /** One character alone cannot be backtracked over. */
  #charThat(source: string): Part {
    const single = singleChar(source);
    const known = new Map<string, boolean>();
    const fits = (char: string) => {
      const answer = known.get(char) ?? single.test(char);
      known.set(char, answer);
      return answer;
    };
    return (next) => this.#add({ kind: "char", fits, next });
  }

  #add(state: State): number {
    if (this.#states.length >= STATES_MAX) throw refused("its repetitions make it too large");
    return this.#states.push(state) - 1;
  }

  #peek(): string {
    return this.#chars[this.#at] ?? "";
  }

  #takes(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at += 1;
    return true;
  }
}

function literal(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}

function singleChar(source: string): RegExp {
  try {
    return new RegExp(`^${source}$`, "u");
  } catch (error) {
    throw refused(`${source} is not understood (${error instanceof Error ? error.message : error})`);
  }
}

function isWordEdge(before: string, after: string): boolean {
  return /^\w$/.test(before) !== /^\w$/.test(after);
}

/** All states that can be reached are followed at once; a new try begins at every character. */
function runs({ states, start }: Machine, text: string): boolean {
  const chars = [...text];
  let reached: readonly number[] = [];
  for (let at = 0; at <= chars.length; at += 1) {
    const before = chars[at - 1] ?? "";
    const after = chars[at] ?? "";
    const here = spread(states, [...reached, start], { before, after });
    if (here === "end") return true;
    reached = after === "" ? [] : here.flatMap((index) => stepOver(states[index], after));
  }
  return false;
}

function stepOver(state: State | undefined, char: string): readonly number[] {
  return state?.kind === "char" && state.fits(char) ? [state.next] : [];
}

/** What can be reached from here without a character; `end` when the end can. */
function spread(
  states: readonly State[],
  from: readonly number[],
  { before, after }: { readonly before: string; readonly after: string },
): readonly number[] | "end" {
  const seen = new Set(from);
  for (const index of seen) {
    const state = states[index];
    if (state?.kind === "end") return "end";
    if (state?.kind === "fork") seen.add(state.next).add(state.other);
    if (state?.kind === "place" && state.holds(before, after)) seen.add(state.next);
  }
  return [...seen];
}
