/** The configuration of an automatic fix: which letters it matches, how it changes them, how often. */

import type { Engine, StoredLetter } from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import type { JsonObject } from "../std/json.ts";
import { type Selection, selectPages } from "./select.ts";

/** A rule that changes the matching letters and redrives them. */
export interface FixRule {
  /** Stored with every amendment that the rule makes. */
  readonly name: string;
  readonly match: Selection;
  readonly change: FixChange;
  /** How often the rule may be applied to the same letter. */
  readonly usesMax: number;
  /** Whether a running job applies the rule itself when its queue is empty. */
  readonly auto: boolean;
}

export type FixChange =
  /** Paths, and CEL expressions for their new values. */
  | { readonly kind: "set"; readonly set: Readonly<Record<string, string>> }
  /** A JSON merge patch (RFC 7396). */
  | { readonly kind: "patch"; readonly patch: JsonObject }
  /** A program that reads `{item, letter}` from stdin and prints the new data. */
  | {
      readonly kind: "command";
      readonly command: readonly [program: string, ...args: string[]];
      readonly cwd: string;
      readonly timeoutMs: number;
    };

export interface FixScope {
  readonly queue: string;
  readonly within?: Selection;
  /** Letters that another rule has already changed in this pass. */
  readonly taken: ReadonlySet<number>;
  readonly signal?: AbortSignal;
}

export async function* fixableLetters(
  engine: Engine,
  rule: FixRule,
  { queue, within = { filter: {} }, taken, signal }: FixScope,
): AsyncGenerator<readonly StoredLetter[]> {
  const both = narrowed(rule.match, within);
  const selection = { ...both, filter: { ...both.filter, queue, states: ["dead"] as const } };
  for await (const { letters } of selectPages(engine, selection, {
    order: "oldest",
    ...(signal && { signal }),
  })) {
    const fixable = letters.filter((letter) => !taken.has(letter.letterSequence) && mayFix(rule, letter));
    if (fixable.length > 0) yield fixable;
  }
}

/** Whether the rule may change the letter. Poison letters are excluded, because a person has to review them first. */
function mayFix({ name, usesMax }: FixRule, letter: Letter): boolean {
  return !letter.poison && usesOf(name, letter) < usesMax;
}

/** Counts the rule's amendments, and its notes for the uses that changed nothing. */
export function usesOf(rule: string, { amendments = [], notes = [] }: Letter): number {
  const author = noteAuthor(rule);
  return (
    amendments.filter((amendment) => amendment.rule === rule).length +
    notes.filter((note) => note.author === author).length
  );
}

export function noteAuthor(rule: string): string {
  return `fix ${rule}`;
}

export function narrowed(one: Selection, other: Selection): Selection {
  const filters = [one.where, other.where].filter((where) => where !== undefined);
  return {
    filter: {
      ...other.filter,
      ...common(one.filter, other.filter, "signatures"),
      ...common(one.filter, other.filter, "types"),
      ...common(one.filter, other.filter, "classes"),
    },
    ...(filters.length > 0 && { where: filters.map((where) => `(${where})`).join(" && ") }),
  };
}

/** Intersects lists that both filters have. An empty intersection matches nothing. */
function common<K extends "signatures" | "types" | "classes">(
  one: LetterFilter,
  other: LetterFilter,
  key: K,
): Pick<LetterFilter, K> {
  const [mine, theirs] = [one[key], other[key]] as [
    readonly string[] | undefined,
    readonly string[] | undefined,
  ];
  const both = mine && theirs ? mine.filter((word) => theirs.includes(word)) : (mine ?? theirs);
  return (both === undefined ? {} : { [key]: both }) as Pick<LetterFilter, K>;
}
