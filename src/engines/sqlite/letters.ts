/** Reads letters with the records of their items from SQLite, a whole page at a time. */
import { LETTER_PARTS, type LetterPart, type StoredLetter } from "../../engine.ts";
import type { LateResult, LetterNote, ResolutionKind } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { listAmendments } from "../sql/amendments.ts";
import type { FailureHistory } from "../sql/attempts.ts";
import {
  LETTER_TABLES,
  type Additions as LetterAdditions,
  type LetterTable,
  letterOf,
  type LetterRow as StoredRow,
} from "../sql/letters.ts";
import { historiesOf } from "./attempts.ts";
import { runOn } from "./db.ts";
import type { Session, Value } from "./session.ts";

/** Reads the letter of an item, even a closed one; null if it has none. */
export function readLetter(session: Session, ref: number): StoredLetter | null {
  for (const table of LETTER_TABLES) {
    const [row] = readRows(session, table, { where: "l.ref = ?", value: ref, parts: ALL_PARTS });
    if (row !== undefined) return letterFrom(session, row, keptOf(session, [row], ALL_PARTS));
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
  const rows = LETTER_TABLES.flatMap((table) => {
    const numbers = found.filter((one) => one.table === table).map((one) => one.no);
    if (numbers.length === 0) return [];
    const where = "l.no IN (SELECT value FROM json_each(?))";
    return readRows(session, table, { where, value: JSON.stringify(numbers), parts });
  });
  const kept = keptOf(session, rows, parts);
  const byNumber = new Map(rows.map((row) => [row[0], row]));
  return found.map(({ no }) => {
    const row = byNumber.get(no);
    assert(row, `letter ${no} vanished inside one read`);
    return letterFrom(session, row, kept);
  });
}

/** A letter with its item, as an array, which costs half as much as an object. Record and resolution are optional. */
type LetterRow = readonly [
  no: number,
  ref: number,
  group: number,
  itemId: string,
  firstAt: number,
  state?: ItemState,
  revision?: number,
  redrives?: number,
  reason?: string,
  artifacts?: string | null,
  poison?: number,
  sourceSignature?: string | null,
  kind?: ResolutionKind,
  closedAt?: number,
  author?: string | null,
  why?: string | null,
  operation?: string | null,
];

function readRows(session: Session, table: LetterTable, { where, value, parts }: Reading): LetterRow[] {
  const record = parts.has("record")
    ? `, ${RECORD}${table === "resolved_letters" ? `, ${RESOLUTION}` : ""}`
    : "";
  return session.packed<LetterRow>(
    `l.no, l.ref, l.grp, i.item_id, l.first_at${record}`,
    `FROM ${table} l CROSS JOIN items i ON i.ref = l.ref WHERE ${where}`,
    value,
  );
}

/** Which letters `l` are read, and which parts of them. */
interface Reading {
  readonly where: string;
  readonly value: Value;
  readonly parts: ReadonlySet<LetterPart>;
}

const RECORD = "i.state, i.revision, i.redrives, l.reason, l.artifacts, l.poison, l.source_signature";
const RESOLUTION = "l.kind, l.closed_at, l.author, l.why, l.operation";

/** The wanted records of the letters' groups and items. */
interface Kept {
  readonly groups: ReadonlyMap<number, GroupRow>;
  readonly data: ReadonlyMap<number, string>;
  readonly hasTimes: boolean;
  readonly histories: ReadonlyMap<number, FailureHistory>;
  readonly additions: Additions | null;
}

interface Additions {
  readonly lateResults: ReadonlyMap<number, readonly LateResult[]>;
  readonly amended: ReadonlySet<number>;
  readonly notes: ReadonlyMap<number, readonly LetterNote[]>;
}

function keptOf(session: Session, rows: readonly LetterRow[], parts: ReadonlySet<LetterPart>): Kept {
  const refs = rows.map(([, ref]) => ref);
  return {
    groups: groupsOf(session, rows),
    data: parts.has("data") ? dataOf(session, refs) : new Map(),
    hasTimes: parts.has("times") || parts.has("failures"),
    histories: historiesOf(session, refs, parts),
    additions: parts.has("additions") ? additionsOf(session, refs) : null,
  };
}

function additionsOf(session: Session, refs: readonly number[]): Additions {
  const amended = session.tuples<[ref: number]>(
    `SELECT DISTINCT m.ref FROM json_each(?) refs CROSS JOIN amendments m ON m.ref = refs.value`,
    JSON.stringify(refs),
  );
  return {
    lateResults: lateResultsOf(session, refs),
    amended: new Set(amended.map(([ref]) => ref)),
    notes: byRef(
      session.all<LetterNote & { readonly ref: number }>(
        `SELECT n.ref, n.at, n.author, n.text FROM json_each(?) refs CROSS JOIN notes n ON n.ref = refs.value ORDER BY n.rowid`,
        refs,
      ),
    ),
  };
}

function dataOf(session: Session, refs: readonly number[]): ReadonlyMap<number, string> {
  const rows = session.tuples<[ref: number, data: string]>(
    "SELECT p.ref, p.data FROM json_each(?) refs CROSS JOIN payloads p ON p.ref = refs.value",
    JSON.stringify(refs),
  );
  return new Map(rows);
}

interface GroupRow {
  readonly no: number;
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly eligible: number;
  readonly review: number;
}

/** Many letters share a group, so it is read once for all of them. */
function groupsOf(session: Session, rows: readonly LetterRow[]): ReadonlyMap<number, GroupRow> {
  const numbers = new Set(rows.map(([, , group]) => group));
  const groups = session.all<GroupRow>(
    `SELECT g.no, q.name AS queue, g.signature, g.pattern, g.eligible, g.review
       FROM json_each(?) numbers CROSS JOIN groups g ON g.no = numbers.value CROSS JOIN queues q ON q.no = g.queue`,
    JSON.stringify([...numbers]),
  );
  return new Map(groups.map((group) => [group.no, group]));
}

function letterFrom(session: Session, row: LetterRow, kept: Kept): StoredLetter {
  const [no, ref, grp, itemId, firstAt] = row;
  const group = kept.groups.get(grp);
  assert(group, `letter ${no} is of group ${grp}, which is not there`);
  // One literal with every field: objects that grow afterwards made reading a page three times as slow.
  const stored = {
    no,
    ref,
    item_id: itemId,
    first_at: kept.hasTimes ? firstAt : 0,
    queue: group.queue,
    signature: group.signature,
    pattern: group.pattern,
    eligible: group.eligible,
    review: group.review,
    data: kept.data.get(ref),
    state: row[5],
    revision: row[6],
    redrives: row[7],
    reason: row[8],
    artifacts: row[9],
    poison: row[10],
    source_signature: row[11],
    kind: row[12],
    closed_at: row[13],
    author: row[14],
    why: row[15],
    operation: row[16],
  } as StoredRow;
  return letterOf(stored, kept.histories.get(ref), additionsTo(session, ref, kept.additions));
}

function additionsTo(session: Session, ref: number, kept: Additions | null): LetterAdditions {
  if (kept === null) return {};
  return {
    lateResults: kept.lateResults.get(ref) ?? null,
    amendments: kept.amended.has(ref) ? runOn(session, (db) => listAmendments(db, ref)) : null,
    notes: kept.notes.get(ref) ?? null,
  };
}

function lateResultsOf(session: Session, refs: readonly number[]): ReadonlyMap<number, LateResult[]> {
  const rows = session.all<LateResult & { readonly ref: number }>(
    `SELECT e.ref, e.at, e.attempt AS attemptNumber, e.outcome, e.note
       FROM json_each(?) refs CROSS JOIN late_results e ON e.ref = refs.value ORDER BY e.rowid`,
    JSON.stringify(refs),
  );
  return byRef(rows);
}

/** Groups rows by item, and removes the item's number from them. */
function byRef<Row extends { readonly ref: number }>(
  rows: readonly Row[],
): ReadonlyMap<number, Omit<Row, "ref">[]> {
  const found = new Map<number, Omit<Row, "ref">[]>();
  for (const { ref, ...rest } of rows) found.set(ref, [...(found.get(ref) ?? []), rest]);
  return found;
}
