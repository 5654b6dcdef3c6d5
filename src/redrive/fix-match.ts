/** Which letters a fix is for: dead, meant by its match and by the person, not toxic, and not fixed by it too often. */
import type { Engine, StoredLetter } from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import type { LetterFilter } from "../item/letter-filter.ts";
import type { FixRule } from "./fix-rule.ts";
import { type Selection, selectPages } from "./select.ts";

export interface FixScope {
  readonly queue: string;
  /** Only letters that are meant by this, too. */
  readonly within?: Selection;
  /** Burials that another rule has taken in the same pass. */
  readonly taken: ReadonlySet<number>;
  readonly signal?: AbortSignal;
}

/** Page by page, oldest first; no page is empty. */
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
    const fixable = letters.filter((letter) => !taken.has(letter.burial) && mayFix(rule, letter));
    if (fixable.length > 0) yield fixable;
  }
}

/** A toxic letter needs a person, and a rule is none. */
function mayFix({ name, usesMax }: FixRule, letter: Letter): boolean {
  return !letter.toxic && usesOf(name, letter) < usesMax;
}

/** How often the rule was used on the letter: what it changed, and the notes of the times when that was nothing. */
export function usesOf(rule: string, { amendments = [], notes = [] }: Letter): number {
  const author = noteAuthor(rule);
  return (
    amendments.filter((amendment) => amendment.rule === rule).length +
    notes.filter((note) => note.author === author).length
  );
}

/** Who writes on a letter that a rule was used and changed nothing. */
export function noteAuthor(rule: string): string {
  return `fix ${rule}`;
}

/** What both selections mean. */
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

/** Lists that both have are cut to what both name; nothing in common matches nothing. */
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
