/**
 * What an expression about letters looks at, told by the names in its text, before any letter is read. Where that is
 * not plain to see (`letter` as a whole, or a name inside a quoted text), more is taken for named and never less.
 */
import type { LetterPart } from "../engine.ts";

/** The fields that are named of a variable, `all` when any may be meant, null when the variable is not named. */
export type NamedFields = ReadonlySet<string> | "all" | null;

export interface Named {
  readonly letter: NamedFields;
  readonly failure: NamedFields;
  readonly item: boolean;
}

export function namedIn(where: string): Named {
  return {
    letter: fieldsOf("letter", where),
    failure: fieldsOf("failure", where),
    item: /\bitem\b/.test(where),
  };
}

/** The parts that a search reads first: of a letter that is handed around as a whole, what else is named. */
export function firstParts(where: string): ReadonlySet<LetterPart> {
  const { letter, failure, item } = namedIn(where);
  if (letter !== "all") return new Set(partsNamedIn(where));
  return new Set([...(item ? (["data"] as const) : []), ...(failure ? (["last_failure"] as const) : [])]);
}

/** The parts of a letter that the expression looks at. */
export function partsNamedIn(where: string): readonly LetterPart[] {
  const { letter, failure, item } = namedIn(where);
  const parts = new Set<LetterPart>(letter === "all" ? ALL_PARTS : partsOf(letter ?? []));
  if (item) parts.add("data");
  if (failure !== null && !parts.has("failures")) parts.add("last_failure");
  return [...parts];
}

const ALL_PARTS: readonly LetterPart[] = ["data", "record", "times", "failures", "additions"];

/** The fields of a letter that are not always there. */
const PART_OF: Readonly<Record<string, LetterPart>> = {
  item_data: "data",
  worktree_artifacts: "record",
  state: "record",
  reason: "record",
  revision: "record",
  redrive_count: "record",
  toxic: "record",
  resolution: "record",
  first_attempt: "times",
  last_attempt: "times",
  failure_count: "times",
  failure_history: "failures",
  evidence: "additions",
  amendments: "additions",
  notes: "additions",
};

/** The part that a field of a letter is read by; undefined for what is always there. */
export function partOf(field: string): LetterPart | undefined {
  return PART_OF[field];
}

function partsOf(fields: Iterable<string>): LetterPart[] {
  return [...fields].flatMap((field) => PART_OF[field] ?? []);
}

/** `letter.reason`, `letter.?toxic`, `letter["queue"]`, `dyn(letter).state` name a field; the rest is about the whole. */
function fieldsOf(name: string, text: string): NamedFields {
  const where = text.replace(new RegExp(`\\bdyn\\(\\s*${name}\\s*\\)`, "g"), name);
  const uses = where.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0;
  if (uses === 0) return null;
  const field = `(?:\\.\\s*\\??\\s*([A-Za-z_]\\w*)|\\[\\s*\\??\\s*(?:"(\\w+)"|'(\\w+)')\\s*\\])`;
  const named = [...where.matchAll(new RegExp(`\\b${name}\\s*${field}`, "g"))];
  return named.length < uses ? "all" : new Set(named.map(([, a, b, c]) => a ?? b ?? c ?? ""));
}
