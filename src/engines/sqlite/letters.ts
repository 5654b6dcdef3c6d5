/** Reads letters with the records of their items from SQLite, many letters with one statement. */
import { LETTER_PARTS, type LetterPart, type StoredLetter } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { failedAttempts } from "../sql/attempts.ts";
import {
  type GroupColumns,
  LETTER_TABLES,
  type LetterColumns,
  type LetterTable,
  lettersOf,
  type ResolutionColumns,
} from "../sql/letters.ts";
import { withPageAdditions } from "./letter-additions.ts";
import { textsOf } from "./letter-texts.ts";
import type { Session, Value } from "./session.ts";

/** Reads the letter of an item, even a resolved one; null if there is none. */
export function readLetter(session: Session, ref: number): StoredLetter | null {
  for (const table of LETTER_TABLES) {
    const [row] = session.tuples<SingleRow>(SINGLE[table], ref);
    if (row !== undefined) return withPageAdditions(session, [letterIn(row)], [ref])[0] ?? null;
  }
  return null;
}

/** The columns of one letter with its group and its texts: a list of each would take longer. */
type SingleRow = readonly [
  ...letter: [no: number, ref: number, group: number, itemId: string, firstAt: number],
  ...record: [state: ItemState, revision: number, redrives: number, reason: string],
  ...rare: [artifacts: string | null, poison: number, sourceSignature: string | null],
  ...group: [queue: string, signature: string, pattern: string, eligible: number, review: number],
  ...texts: [data: string | null, attempts: string | null],
  ...resolution: ResolutionColumns | [],
];

const SINGLE: Readonly<Record<LetterTable, string>> = {
  letters: singleIn("letters"),
  resolved_letters: singleIn("resolved_letters"),
};

function singleIn(table: LetterTable): string {
  return `SELECT l.no, l.ref, l.grp, i.item_id, l.first_at, i.state, i.revision, i.redrives, l.reason,
                 l.artifacts, l.poison, l.source_signature, q.name, g.signature, g.pattern, g.eligible, g.review,
                 (SELECT p.data FROM payloads p WHERE p.ref = l.ref), ${failedAttempts("l.ref", true)}
                 ${table === "resolved_letters" ? ", l.kind, l.closed_at, l.author, l.why, l.operation" : ""}
            FROM ${table} l CROSS JOIN items i ON i.ref = l.ref CROSS JOIN groups g ON g.no = l.grp
                 CROSS JOIN queues q ON q.no = g.queue WHERE l.ref = ?`;
}

function letterIn(row: SingleRow): StoredLetter {
  const [no, ref, group, itemId, firstAt, state, revision, redrives, reason, artifacts, poison, source] = row;
  const [queue, signature, pattern, eligible, review, data, attempts] = row.slice(12) as unknown as [
    ...[string, string, string, number, number],
    ...[string | null, string | null],
  ];
  const resolution = row.slice(19) as unknown as ResolutionColumns | [];
  const texts = { data: () => data, attempts: () => attempts, lastFailure: () => null };
  const [letter] = lettersOf(
    {
      ...{ no: [no], ref: [ref], group: [group], itemId: [itemId], firstAt: [firstAt] },
      ...{ state: [state], revision: [revision], redrives: [redrives], reason: [reason] },
      rare: [[artifacts, poison, source]],
      ...(resolution.length > 0 && { resolution: [resolution as ResolutionColumns] }),
    },
    [texts],
    new Map([[group, { queue, signature, pattern, eligible, review }]]),
  );
  assert(letter, "one row makes one letter");
  return letter;
}

const ALL_PARTS: ReadonlySet<LetterPart> = new Set(LETTER_PARTS);

/** Reads letters that were just found, in the same order. */
export function readLetters(
  session: Session,
  found: readonly { readonly table: LetterTable; readonly no: number }[],
  wanted?: readonly LetterPart[],
): readonly StoredLetter[] {
  const parts = wanted ? new Set(wanted) : ALL_PARTS;
  const byTable = LETTER_TABLES.map((table) => {
    const numbers = numbersOf(found, table);
    return numbers.length === 0 ? [] : readFrom(session, numbered(table, numbers), parts);
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

function numbersOf(
  found: readonly { readonly table: LetterTable; readonly no: number }[],
  table: LetterTable,
): number[] {
  const numbers: number[] = [];
  for (const one of found) if (one.table === table) numbers.push(one.no);
  return numbers;
}

/** The letters to read. The SQL refers to them as `l`. */
interface Chosen {
  readonly table: LetterTable;
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
  return { table, from, where: "true", value: JSON.stringify(numbers) };
}

function readFrom(session: Session, chosen: Chosen, parts: ReadonlySet<LetterPart>): StoredLetter[] {
  const columns = columnsOf(session, chosen, parts);
  const { ref: refs } = columns;
  if (refs.length === 0) return [];
  const groups = groupsOf(session, [...new Set(columns.group)]);
  const letters = lettersOf(columns, textsOf(session, refs, parts), groups);
  return parts.has("additions") ? withPageAdditions(session, letters, refs) : letters;
}

/** Each list is one JSON text, because each value of a row costs a call. */
interface Lists {
  readonly no: string;
  readonly ref: string;
  readonly group: string;
  readonly itemId: string;
  readonly firstAt: string;
  /** Whether some of the letters have another record than that of a letter that just died. */
  readonly has_others?: number;
  /** The reason, if it is the same for all letters. */
  readonly same_reason?: string | null;
}

const LISTS = `json_group_array(l.no) AS no, json_group_array(l.ref) AS ref, json_group_array(l.grp) AS "group",
  json_group_array(i.item_id) AS itemId`;
const IS_RARE = "l.artifacts IS NOT NULL OR l.poison = 1 OR l.source_signature IS NOT NULL";
const SAME = `max(i.state <> 'dead' OR i.revision <> 1 OR i.redrives <> 0 OR ${IS_RARE}) AS has_others,
  CASE WHEN min(l.reason) = max(l.reason) THEN min(l.reason) END AS same_reason`;

interface RecordLists {
  readonly state: string;
  readonly revision: string;
  readonly redrives: string;
  readonly reason: string;
  readonly rare: string;
  readonly resolution: string;
}

const RECORD = `json_group_array(i.state) AS state, json_group_array(i.revision) AS revision,
  json_group_array(i.redrives) AS redrives, json_group_array(l.reason) AS reason,
  json_group_array(CASE WHEN ${IS_RARE} THEN json_array(l.artifacts, l.poison, l.source_signature) END) AS rare`;
const RESOLUTION =
  "json_group_array(json_array(l.kind, l.closed_at, l.author, l.why, l.operation)) AS resolution";

/** Reads the columns of the letters. Most have the same record, so the lists of theirs are read only if they differ. */
function columnsOf(
  session: Session,
  { table, from, where, value }: Chosen,
  parts: ReadonlySet<LetterPart>,
): LetterColumns {
  const rest = `FROM ${from} CROSS JOIN items i ON i.ref = l.ref WHERE ${where}`;
  const hasTimes = parts.has("times") || parts.has("failures");
  const isWhole = parts.has("record") || parts.has("additions"); // amended letters are found by their revision
  const isResolved = table === "resolved_letters";
  const firstAt = `json_group_array(${hasTimes ? "l.first_at" : "0"}) AS firstAt`;
  const lists = session.get<Lists>(
    `SELECT ${[LISTS, firstAt, ...(isWhole ? [SAME] : [])].join(", ")} ${rest}`,
    value,
  );
  assert(lists, "an aggregate returns a row");
  const { no, ref, group, itemId, has_others: hasOthers, same_reason: reason } = lists;
  const columns = {
    no: JSON.parse(no) as number[],
    ref: JSON.parse(ref) as number[],
    group: JSON.parse(group) as number[],
    itemId: JSON.parse(itemId) as string[],
    firstAt: JSON.parse(lists.firstAt) as number[],
  };
  if (!isWhole || columns.no.length === 0) return columns;
  if (hasOthers === 0 && typeof reason === "string" && !isResolved)
    return { ...columns, ...sameRecord(columns.no.length, reason) };
  const sql = `SELECT ${RECORD}${isResolved ? `, ${RESOLUTION}` : ""} ${rest}`;
  const record = Object.entries(session.get<RecordLists>(sql, value) ?? {});
  return { ...columns, ...Object.fromEntries(record.map(([name, text]) => [name, JSON.parse(text)])) };
}

/** The records of letters that just died for the same reason. */
function sameRecord(count: number, reason: string): Partial<LetterColumns> {
  return {
    reason: new Array<string>(count).fill(reason),
    revision: new Array<number>(count).fill(1),
  };
}

/** Many letters share a group, so it is read once for all of them. */
function groupsOf(session: Session, numbers: readonly number[]): ReadonlyMap<number, GroupColumns> {
  const rows = session.packed<[no: number, queue: string, string, string, number, number]>(
    "g.no, q.name, g.signature, g.pattern, g.eligible, g.review",
    "FROM json_each(?) numbers CROSS JOIN groups g ON g.no = numbers.value CROSS JOIN queues q ON q.no = g.queue",
    numbers,
  );
  assert(rows.length === numbers.length, "a letter is of a group that is not there");
  return new Map(
    rows.map(([no, queue, signature, pattern, eligible, review]) => [
      no,
      { queue, signature, pattern, eligible, review },
    ]),
  );
}
