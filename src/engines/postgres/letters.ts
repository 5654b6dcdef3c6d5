/** Reads letters by number with the requested parts of their items, in one statement per table. */
import { LETTER_PARTS, type LetterPart, type StoredLetter } from "../../engine.ts";
import type { LateResult, LetterNote, ResolutionKind } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { type AmendmentRow, amendmentOf } from "../sql/amendments.ts";
import { failedAttempts, lastFailureOf } from "../sql/attempts.ts";
import {
  type GroupColumns,
  LETTER_TABLES,
  type LetterColumns,
  type LetterTable,
  type LetterTexts,
  lettersOf,
  withAdditions,
} from "../sql/letters.ts";
import type { Tx } from "./session.ts";

/** Reads the letter of an item, waiting or resolved; null if there is none. */
export async function readLetter(tx: Tx, ref: number): Promise<StoredLetter | null> {
  const found = await Promise.all(
    LETTER_TABLES.map((table) =>
      tx.all<PageRow>(lettersIn(table, `(SELECT no FROM ${table} WHERE ref = ?)`, LETTER_PARTS), ref),
    ),
  );
  const [row] = found.flat();
  return row === undefined ? null : letterFrom(row);
}

/** Reads letters that were found in the same transaction, in the given order. */
export async function readLetters(
  tx: Tx,
  found: readonly { readonly table: LetterTable; readonly no: number }[],
  parts?: readonly LetterPart[],
): Promise<StoredLetter[]> {
  const rows = await Promise.all(
    LETTER_TABLES.map(async (table) => {
      const numbers = found.filter((one) => one.table === table).map((one) => one.no);
      if (numbers.length === 0) return [];
      return tx.all<PageRow>(lettersIn(table, "unnest(?::bigint[])", parts), numbers);
    }),
  );
  const byNumber = new Map(rows.flat().map((row) => [row.no, row]));
  return found.map(({ no }) => {
    const row = byNumber.get(no);
    assert(row, `letter ${no} vanished inside one read`);
    return letterFrom(row);
  });
}

/** A letter row with the requested parts of its item. */
export interface PageRow extends GroupColumns {
  readonly no: number;
  readonly ref: number;
  readonly item_id: string;
  readonly state: ItemState;
  readonly revision: number;
  readonly redrives: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly poison: number;
  readonly source_signature: string | null;
  readonly first_at?: number;
  readonly data?: string;
  readonly attempts?: string | null;
  readonly last_failure?: string | null;
  readonly kind?: ResolutionKind;
  readonly closed_at?: number;
  readonly author?: string | null;
  readonly why?: string | null;
  readonly operation?: string | null;
  readonly late_results?: readonly LateResult[] | null;
  readonly amendments?: readonly AmendmentRow[] | null;
  readonly notes?: readonly LetterNote[] | null;
}

/**
 * Selects letters whose numbers are in a relation. OFFSET 0 forces one index lookup per letter: the planner could turn a
 * plain join into a scan of the table.
 */
export function lettersIn(
  table: LetterTable,
  numbers: string,
  wanted: readonly LetterPart[] = LETTER_PARTS,
): string {
  const parts = new Set(wanted);
  const hasFailures = parts.has("failures");
  const hasData = parts.has("data");
  const columns = [
    "l.no, l.ref, i.item_id, i.state, i.revision, i.redrives, l.reason, l.artifacts, l.poison",
    "l.source_signature, q.name AS queue",
    "g.signature, g.pattern, g.eligible, g.review",
    hasData && "p.data",
    (hasFailures || parts.has("times")) && `l.first_at, ${failedAttempts("l.ref", hasFailures)} AS attempts`,
    !hasFailures && parts.has("last_failure") && `${lastFailureOf("l.ref")} AS last_failure`,
    parts.has("additions") && ADDITIONS,
    table === "resolved_letters" && "l.kind, l.closed_at, l.author, l.why, l.operation",
  ];
  return `
    WITH page AS MATERIALIZED (
           SELECT l.* FROM ${numbers} AS f (no) CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE no = f.no OFFSET 0) l)
    SELECT ${columns.filter(Boolean).join(", ")}
      FROM page l
           CROSS JOIN LATERAL (SELECT queue, item_id, state, revision, redrives FROM items WHERE ref = l.ref OFFSET 0) i
           CROSS JOIN LATERAL (SELECT signature, pattern, eligible, review FROM groups WHERE no = l.grp OFFSET 0) g
           CROSS JOIN LATERAL (SELECT name FROM queues WHERE no = i.queue OFFSET 0) q
           ${hasData ? "CROSS JOIN LATERAL (SELECT data FROM payloads WHERE ref = l.ref OFFSET 0) p" : ""}`;
}

const LATE_RESULTS = `(SELECT json_agg(json_build_object(
  'at', e.at, 'attemptNumber', e.attempt, 'outcome', e.outcome, 'note', e.note) ORDER BY e.no)
                     FROM late_results e WHERE e.ref = l.ref)`;

const NOTES = `(SELECT json_agg(json_build_object('at', n.at, 'author', n.author, 'text', n.text) ORDER BY n.no)
  FROM notes n WHERE n.ref = l.ref)`;
const AMENDMENTS = `(SELECT json_agg(a ORDER BY a.revision) FROM amendments a WHERE a.ref = l.ref)`;

/** Most letters have no additions, so each table is checked once for the whole page first. */
const ADDITIONS = [
  `${ifAnyHas("late_results", LATE_RESULTS)} AS late_results`,
  `${ifAnyHas("notes", NOTES)} AS notes`,
  `CASE WHEN i.revision > 1 THEN ${AMENDMENTS} END AS amendments`,
].join(", ");

function ifAnyHas(table: string, sql: string): string {
  const any = `SELECT EXISTS (SELECT FROM ${table} WHERE ref = ANY (ARRAY (SELECT ref FROM page)))`;
  return `CASE WHEN (${any}) THEN ${sql} END`;
}

export function letterFrom(row: PageRow): StoredLetter {
  const [letter] = lettersOf(columnsOf(row), [textsOf(row)], new Map([[GROUP, row]]));
  assert(letter, "one row makes one letter");
  return withAdditions(letter, {
    lateResults: row.late_results,
    amendments: row.amendments?.map(amendmentOf),
    notes: row.notes,
  });
}

function textsOf({ data, attempts = null, last_failure: lastFailure = null }: PageRow): LetterTexts {
  return {
    data: () => data ?? null,
    attempts: () => attempts,
    lastFailure: () => lastFailure,
  };
}

/** Each row contains its group. */
const GROUP = 0;

function columnsOf(row: PageRow): LetterColumns {
  const { kind, closed_at: closedAt = 0, author = null, why = null, operation = null } = row;
  return {
    no: [row.no],
    ref: [row.ref],
    group: [GROUP],
    itemId: [row.item_id],
    firstAt: [row.first_at ?? 0],
    state: [row.state],
    revision: [row.revision],
    redrives: [row.redrives],
    reason: [row.reason],
    rare: [[row.artifacts, row.poison, row.source_signature]],
    ...(kind !== undefined && { resolution: [[kind, closedAt, author, why, operation]] }),
  };
}
