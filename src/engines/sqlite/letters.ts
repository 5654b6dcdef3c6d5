/** Reads letters with the records of their items from SQLite, a whole page with one statement per table. */
import { LETTER_PARTS, type LetterPart, type StoredLetter } from "../../engine.ts";
import type { LateResult, LetterNote } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { listAmendments } from "../sql/amendments.ts";
import { failedAttempts, lastFailureOf } from "../sql/attempts.ts";
import {
  type GroupColumns,
  LETTER_TABLES,
  type LetterTable,
  type LetterTexts,
  type LetterTuple,
  letterOf,
  withAdditions,
} from "../sql/letters.ts";
import { runOn } from "./db.ts";
import type { Session, Value } from "./session.ts";

/** Reads the letter of an item, even a resolved one; null if there is none. */
export function readLetter(session: Session, ref: number): StoredLetter | null {
  for (const table of LETTER_TABLES) {
    const [letter] = readFrom(
      session,
      table,
      { from: `${table} l`, where: "l.ref = ?", value: ref },
      ALL_PARTS,
    );
    if (letter !== undefined) return letter;
  }
  return null;
}

const ALL_PARTS: ReadonlySet<LetterPart> = new Set(LETTER_PARTS);

/** Reads letters that were just found, in the same order. */
export function readLetters(
  session: Session,
  found: readonly { readonly table: LetterTable; readonly no: number }[],
  wanted?: readonly LetterPart[],
): StoredLetter[] {
  const parts = wanted ? new Set(wanted) : ALL_PARTS;
  const byTable = LETTER_TABLES.map((table) => {
    const numbers = found.filter((one) => one.table === table).map((one) => one.no);
    return numbers.length === 0 ? [] : readFrom(session, table, numbered(table, numbers), parts);
  });
  const [only = [], ...others] = byTable.filter((letters) => letters.length > 0);
  if (others.length === 0 && only.length === found.length) return only;
  const byNumber = new Map(byTable.flat().map((letter) => [letter.letterSequence, letter]));
  return found.map(({ no }) => {
    const letter = byNumber.get(no);
    assert(letter, `letter ${no} vanished inside one read`);
    return letter;
  });
}

/** The letters to read. The SQL refers to them as `l`. */
interface Chosen {
  readonly from: string;
  readonly where: string;
  readonly value: Value;
}

/**
 * Selects the letters with these numbers, in this order. CROSS JOIN prevents SQLite from choosing a different
 * order.
 */
function numbered(table: LetterTable, numbers: readonly number[]): Chosen {
  const from = `json_each(?) numbers CROSS JOIN ${table} l ON l.no = numbers.value`;
  return { from, where: "true", value: JSON.stringify(numbers) };
}

function readFrom(
  session: Session,
  table: LetterTable,
  { from, where, value }: Chosen,
  parts: ReadonlySet<LetterPart>,
): StoredLetter[] {
  const rows = session.packed<LetterTuple>(
    columnsOf(table, parts),
    `FROM ${from} CROSS JOIN items i ON i.ref = l.ref WHERE ${where}`,
    value,
  );
  if (rows.length === 0) return [];
  const refs = rows.map((row) => row[1]);
  const groups = groupsOf(session, rows);
  const texts = textsOf(session, refs, parts);
  const additions = parts.has("additions") ? new PageAdditions(session, refs) : null;
  return rows.map((row, at) => letterFrom(row, texts[at] ?? NO_TEXTS, { groups, additions }));
}

function columnsOf(table: LetterTable, parts: ReadonlySet<LetterPart>): string {
  const hasTimes = parts.has("times") || parts.has("failures");
  const always = `l.no, l.ref, l.grp, i.item_id, ${hasTimes ? "l.first_at" : "0"}`;
  // Amended letters are found by their revision.
  if (!parts.has("record") && !parts.has("additions")) return always;
  return `${always}, ${RECORD}${table === "resolved_letters" ? `, ${RESOLUTION}` : ""}`;
}

const RECORD = "i.state, i.revision, i.redrives, l.reason, l.artifacts, l.poison, l.source_signature";
const RESOLUTION = "l.kind, l.closed_at, l.author, l.why, l.operation";

const NO_TEXTS: LetterTexts = [null, null, null];

/** Reads the texts of each item, in the order of the items. */
function textsOf(
  session: Session,
  refs: readonly number[],
  parts: ReadonlySet<LetterPart>,
): readonly LetterTexts[] {
  const hasFailures = parts.has("failures");
  const data = parts.has("data") && "(SELECT p.data FROM payloads p WHERE p.ref = refs.value)";
  const attempts = (hasFailures || parts.has("times")) && failedAttempts("refs.value", hasFailures);
  const lastFailure = parts.has("last_failure") && !hasFailures && lastFailureOf("refs.value");
  if (!data && !attempts && !lastFailure) return [];
  return session.tuples<[string | null, string | null, string | null]>(
    `SELECT ${[data, attempts, lastFailure].map((column) => column || "NULL").join(", ")} FROM json_each(?) refs`,
    refs,
  );
}

/** Data that the letters of a page share. */
interface Page {
  readonly groups: ReadonlyMap<number, GroupRow>;
  readonly additions: PageAdditions | null;
}

function letterFrom(row: LetterTuple, texts: LetterTexts, { groups, additions }: Page): StoredLetter {
  const group = groups.get(row[2]);
  assert(group, `letter ${row[0]} is of group ${row[2]}, which is not there`);
  const letter = letterOf(row, texts, group);
  return additions === null ? letter : additions.addTo(letter);
}

interface GroupRow extends GroupColumns {
  readonly no: number;
}

/** Many letters share a group, so it is read once for all of them. */
function groupsOf(session: Session, rows: readonly LetterTuple[]): ReadonlyMap<number, GroupRow> {
  const numbers = new Set(rows.map((row) => row[2]));
  const groups = session.all<GroupRow>(
    `SELECT g.no, q.name AS queue, g.signature, g.pattern, g.eligible, g.review
       FROM json_each(?) numbers CROSS JOIN groups g ON g.no = numbers.value CROSS JOIN queues q ON q.no = g.queue`,
    JSON.stringify([...numbers]),
  );
  return new Map(groups.map((group) => [group.no, group]));
}

/** Late results, amendments and notes of a page of letters. */
class PageAdditions {
  readonly #session: Session;
  readonly #lateResults: ReadonlyMap<number, LateResult[]>;
  readonly #notes: ReadonlyMap<number, LetterNote[]>;

  constructor(session: Session, refs: readonly number[]) {
    this.#session = session;
    this.#lateResults = recordsOf<LateResult>(session, refs, {
      table: "late_results",
      columns: "r.at, r.attempt AS attemptNumber, r.outcome, r.note",
    });
    this.#notes = recordsOf<LetterNote>(session, refs, { table: "notes", columns: "r.at, r.author, r.text" });
  }

  addTo(letter: StoredLetter): StoredLetter {
    const { ref, revision } = letter;
    const lateResults = this.#lateResults.get(ref);
    const notes = this.#notes.get(ref);
    if (lateResults === undefined && notes === undefined && revision === 1) return letter;
    const amendments = revision > 1 ? runOn(this.#session, (db) => listAmendments(db, ref)) : null;
    return withAdditions(letter, { lateResults, amendments, notes });
  }
}

/** Most pages have no such records, which a single index lookup shows. */
function recordsOf<Entry extends object>(
  session: Session,
  refs: readonly number[],
  { table, columns }: { readonly table: "late_results" | "notes"; readonly columns: string },
): ReadonlyMap<number, Entry[]> {
  const found = new Map<number, Entry[]>();
  const isAny = `SELECT 1 FROM ${table} WHERE ref BETWEEN ? AND ? LIMIT 1`;
  if (
    session.get(
      isAny,
      refs.reduce((a, b) => Math.min(a, b)),
      refs.reduce((a, b) => Math.max(a, b)),
    ) === undefined
  )
    return found;
  const records = session.all<{ readonly ref: number }>(
    `SELECT r.ref, ${columns} FROM json_each(?) refs CROSS JOIN ${table} r ON r.ref = refs.value ORDER BY r.rowid`,
    refs,
  );
  for (const { ref, ...rest } of records) {
    const entries = found.get(ref);
    if (entries === undefined) found.set(ref, [rest as Entry]);
    else entries.push(rest as Entry);
  }
  return found;
}
