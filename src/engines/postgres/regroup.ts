/**
 * Letters that change their group while everything else about them stays, in PostgreSQL: the counters of groups and
 * arrivals follow in the same transaction, under the lock of letters.
 */
import type { Regrouped } from "../../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import { assert } from "../../std/assert.ts";
import type { LetterPlace } from "../sql/deltas.ts";
import { EventLog } from "../sql/event-log.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { GroupCache } from "./group-cache.ts";
import type { LetterTable } from "./letters.ts";
import type { Tx } from "./session.ts";

/** How many changed their group. Of one that is named twice, the first naming counts. */
export async function regroup(tx: Tx, letters: readonly Regrouped[]): Promise<number> {
  const events = new EventLog(tx.now);
  const groups = new GroupCache(tx, tx.now, events);
  const deltas = new CounterDeltas();
  const asked = await placesOf(tx, letters, groups);
  const moving = asked.filter(({ row, found }) => found.signature !== row.signature);
  for (const { row, found } of moving) groups.know(found, { queue: row.queue, ref: row.ref });
  await move(tx, deltas, await withNumbers(groups, moving));
  await writeAlgorithms(tx, asked);
  await deltas.write(tx);
  await groups.write();
  await writeEvents(tx, events);
  return moving.length;
}

/** A letter that is there, and where it belongs. */
interface Place {
  readonly row: Row;
  readonly algorithm: string;
  readonly found: { readonly signature: string; readonly pattern: string };
}

interface Row extends LetterPlace {
  readonly ref: number;
  readonly queue: number;
  readonly signature: string;
  readonly error_type: ErrorTypeName;
  readonly error_class: ErrorClass;
  readonly eligible: number;
  readonly review: number;
  /** Of the last failed attempt, by which groups are split. */
  readonly message: string;
  /** What the group counts it as besides, if anything. */
  readonly counted: "away" | "resolved" | "discarded" | null;
  readonly is_waiting: boolean;
}

/** In the order in which they are named. */
async function placesOf(tx: Tx, letters: readonly Regrouped[], groups: GroupCache): Promise<Place[]> {
  const rows = await rowsOf(tx, letters);
  const named = letters.flatMap((letter) => {
    const row = rows.get(letter.letterSequence);
    rows.delete(letter.letterSequence);
    return row === undefined ? [] : { row, letter };
  });
  const found = await groups.groupAll(
    named.map(({ row: { message }, letter: { signature, pattern } }) => ({
      group: { signature, pattern },
      message,
    })),
  );
  return named.map(({ row, letter: { algorithm } }, place) => {
    const group = found[place];
    assert(group, `letter ${row.no} belongs nowhere`);
    return { row, algorithm, found: group };
  });
}

async function rowsOf(tx: Tx, letters: readonly Regrouped[]): Promise<Map<number, Row>> {
  const letterSequences = letters.map(({ letterSequence }) => letterSequence);
  const [waiting, closed] = await Promise.all([
    tx.all<Row>(rowSql("letters", "CASE WHEN i.state <> 'dead' THEN 'away' END"), letterSequences),
    tx.all<Row>(
      rowSql("resolved_letters", "CASE WHEN l.kind = 'discard' THEN 'discarded' ELSE 'resolved' END"),
      letterSequences,
    ),
  ]);
  return new Map([...waiting, ...closed].map((row) => [row.no, row]));
}

function rowSql(table: LetterTable, counted: string): string {
  return `
    SELECT l.no, l.grp, l.buried_at, l.first_at, l.ref, l.message, g.queue, g.signature, g.error_type, g.error_class, g.eligible,
           g.review, ${counted} AS counted, ${table === "letters"} AS is_waiting
      FROM ${table} l JOIN items i ON i.ref = l.ref JOIN groups g ON g.no = l.grp WHERE l.no = ANY (?::bigint[])`;
}

/** The group that a letter has or gets was grouped by this algorithm from now on. */
async function writeAlgorithms(tx: Tx, places: readonly Place[]): Promise<void> {
  const last = new Map(
    places.map(({ row: { queue }, found: { signature }, algorithm }) => [
      `${queue}\n${signature}`,
      { queue, signature, algorithm },
    ]),
  );
  const groups = [...last.values()];
  await tx.run(
    `UPDATE groups g SET algorithm = a.algorithm
       FROM unnest(?::bigint[], ?::text[], ?::text[]) AS a (queue, signature, algorithm)
      WHERE g.queue = a.queue AND g.signature = a.signature AND g.algorithm <> a.algorithm`,
    groups.map(({ queue }) => queue),
    groups.map(({ signature }) => signature),
    groups.map(({ algorithm }) => algorithm),
  );
}

interface Move {
  readonly row: Row;
  readonly to: number;
}

async function withNumbers(groups: GroupCache, places: readonly Place[]): Promise<Move[]> {
  const numbers = await groups.numbersOf(
    places.map(({ row, found, algorithm }) => ({
      ...{ queue: row.queue, at: row.buried_at },
      header: { ...judgementOf(row), ...found, algorithm },
    })),
  );
  return places.map(({ row }, place) => {
    const to = numbers[place];
    assert(to !== undefined, `letter ${row.no} goes to no group`);
    return { row, to };
  });
}

function judgementOf({ error_type, error_class, eligible, review }: Row) {
  return {
    errorType: error_type,
    errorClass: error_class,
    reprocessEligible: eligible === 1,
    manualReviewRequired: review === 1,
  };
}

async function move(tx: Tx, deltas: CounterDeltas, moves: readonly Move[]): Promise<void> {
  for (const { row, to } of moves) {
    deltas.regrouped(row, { ...row, grp: to }, row.is_waiting);
    if (row.counted === null) continue;
    deltas.group(row.grp, row.counted, -1);
    deltas.group(to, row.counted, 1);
  }
  await Promise.all([writeMoves(tx, "letters", moves), writeMoves(tx, "resolved_letters", moves)]);
}

async function writeMoves(tx: Tx, table: LetterTable, moves: readonly Move[]): Promise<void> {
  if (moves.length === 0) return;
  await tx.run(
    `UPDATE ${table} l SET grp = m.grp FROM unnest(?::bigint[], ?::bigint[]) AS m (no, grp) WHERE l.no = m.no`,
    moves.map(({ row }) => row.no),
    moves.map(({ to }) => to),
  );
}
