/**
 * Determines from an expression's text which parts of a letter it may read. May return too many, never too
 * few.
 */
import type { LetterPart } from "../engine.ts";

/** `all` if the expression may read any field, null if it does not use the variable. */
export type NamedFields = ReadonlySet<string> | "all" | null;

export type Named = { readonly letter: NamedFields; readonly failure: NamedFields; readonly item: boolean };

export function namedIn(where: string): Named {
  return {
    letter: fieldsOf("letter", where),
    failure: fieldsOf("failure", where),
    item: /\bitem\b/.test(where),
  };
}

/** Returns the parts to load. `whole` is used if the expression refers to `letter` as a whole. */
export function partsNamedIn(where: string, whole: readonly LetterPart[] = ALL_PARTS): readonly LetterPart[] {
  const { letter, failure, item } = namedIn(where);
  const parts = new Set<LetterPart>(
    letter === "all" ? whole : [...(letter ?? [])].flatMap((field) => PART_OF[field] ?? []),
  );
  if (item) parts.add("data");
  if (failure !== null && !parts.has("failures")) parts.add("last_failure");
  return [...parts];
}

const ALL_PARTS: readonly LetterPart[] = ["data", "record", "times", "failures", "additions"];

const PART_OF: Readonly<Record<string, LetterPart>> = {
  item_data: "data",
  worktree_artifacts: "record",
  state: "record",
  reason: "record",
  revision: "record",
  redrive_count: "record",
  poison: "record",
  resolution: "record",
  first_attempt: "times",
  last_attempt: "times",
  failure_count: "times",
  failure_history: "failures",
  evidence: "additions",
  amendments: "additions",
  notes: "additions",
};

export function partOf(field: string): LetterPart | undefined {
  return PART_OF[field];
}

/**
 * `letter.x`, `letter.?x`, `letter["x"]` and `dyn(letter).x` name a field; any other use may read all fields.
 */
function fieldsOf(name: string, text: string): NamedFields {
  const where = text.replace(new RegExp(`\\bdyn\\(\\s*${name}\\s*\\)`, "g"), name);
  const uses = where.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0;
  if (uses === 0) return null;
  const field = `(?:\\.\\s*\\??\\s*([A-Za-z_]\\w*)|\\[\\s*\\??\\s*(?:"(\\w+)"|'(\\w+)')\\s*\\])`;
  const named = [...where.matchAll(new RegExp(`\\b${name}\\s*${field}`, "g"))];
  return named.length < uses ? "all" : new Set(named.map(([, a, b, c]) => a ?? b ?? c ?? ""));
}
