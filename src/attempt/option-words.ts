/**
 * Keeps the data of an item from becoming an option of the program that gets it as an argument: `-rf` is a file name to
 * us, and an option to `rm`. Where it could be read as one, it is refused; what is filled in is never changed.
 */
import { basename } from "node:path";

/** One argument as it was written and as it is with its values. */
export interface FilledWord {
  readonly written: string;
  /** What stands before the first variable; all of it when there is none. */
  readonly literal: string;
  readonly value: string;
}

/** Why the arguments must not be used, or undefined when no value in them can be read as an option. */
export function optionProblem(words: readonly FilledWord[]): string | undefined {
  const safeFrom = firstOperand(words);
  const found = words.findIndex(
    ({ literal, value }, index) => index > 0 && index < safeFrom && literal === "" && value.startsWith("-"),
  );
  const word = words[found];
  if (word === undefined) return undefined;
  const program = basename(words[0]?.literal ?? "") || "the program";
  return `The value of ${word.written} begins with "-", and ${program} could read it as an option. Put -- before ${word.written}`;
}

const SHELLS = new Set("sh bash dash ash ksh mksh zsh".split(" "));

/** From here on nothing is an option: after `--`, and after the script of `sh -c`. */
function firstOperand(words: readonly FilledWord[]): number {
  for (const [index, { literal, written }] of words.entries()) {
    if (literal !== written) continue;
    if (literal === "--") return index + 1;
    if (index > 0 && /^-[A-Za-z]*c$/.test(literal) && SHELLS.has(basename(words[index - 1]?.literal ?? ""))) {
      return index + 2;
    }
  }
  return words.length;
}
