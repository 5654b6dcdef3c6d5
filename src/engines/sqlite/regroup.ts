/**
 * Letters that change their group while everything else about them stays, in SQLite: the counters of groups, strata and
 * arrivals follow in the same transaction.
 */
import type { Regrouped } from "../../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import type { LetterPlace } from "../sql/deltas.ts";
import { EventLog } from "../sql/event-log.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { GroupCache } from "./group-cache.ts";
import type { LetterTable } from "./letters.ts";
import type { Session } from "./session.ts";

/** How many changed their group. Of one that is named twice, the first naming counts. */
export function regroup(session: Session, letters: readonly Regrouped[]): number {
  const now = session.clock.now();
  const events = new EventLog(now);
  const work: Work = {
    ...{ session, events, deltas: new CounterDeltas(), groups: new GroupCache(session, now, events) },
    ...{ moves: new Map(), algorithms: new Map() },
  };
  const rows = lettersOf(session, letters);
  for (const letter of letters) {
    const row = rows.get(letter.letterSequence);
    if (row === undefined) continue;
    rows.delete(letter.letterSequence);
    regroupOne(work, row, letter);
  }
  const changed = writeMoves(work);
  work.deltas.write(session);
  work.groups.write();
  writeEvents(session, events);
  return changed;
}

interface Work {
  readonly session: Session;
  readonly events: EventLog;
  readonly deltas: CounterDeltas;
  readonly groups: GroupCache;
  /** The numbers of the letters that go to each group. */
  readonly moves: Map<number, number[]>;
  /** The algorithm that the groups of a queue and signature were last grouped by. */
  readonly algorithms: Map<string, readonly [algorithm: string, queue: number, signature: string]>;
}

interface Row extends LetterPlace {
  readonly ref: number;
  readonly queue: number;
  readonly signature: string;
  readonly error_type: ErrorTypeName;
  readonly error_class: ErrorClass;
  readonly eligible: number;
  readonly review: number;
  /** What the group counts it as besides, if anything. */
  readonly counted: "away" | "resolved" | "discarded" | null;
  readonly is_waiting: number;
}

function lettersOf(session: Session, letters: readonly Regrouped[]): Map<number, Row> {
  const letterSequences = JSON.stringify(letters.map(({ letterSequence }) => letterSequence));
  const rows = [
    ...session.all<Row>(rowSql("letters", "iif(i.state = 'dead', NULL, 'away')"), letterSequences),
    ...session.all<Row>(
      rowSql("resolved_letters", "iif(l.kind = 'discard', 'discarded', 'resolved')"),
      letterSequences,
    ),
  ];
  return new Map(rows.map((row) => [row.no, row]));
}

function rowSql(table: LetterTable, counted: string): string {
  return `
    SELECT l.no, l.grp, l.buried_at, l.first_at, l.ref, g.queue, g.signature, g.error_type, g.error_class, g.eligible, g.review,
           ${counted} AS counted, ${table === "letters" ? 1 : 0} AS is_waiting
      FROM json_each(?) asked CROSS JOIN ${table} l ON l.no = asked.value CROSS JOIN items i ON i.ref = l.ref
           CROSS JOIN groups g ON g.no = l.grp`;
}

function regroupOne(work: Work, row: Row, { signature, pattern, algorithm }: Regrouped): void {
  const { session, groups, deltas, moves, algorithms } = work;
  const { queue, ref, grp, counted } = row;
  const found = groups.groupFor({ signature, pattern }, () => lastMessage(session, ref));
  algorithms.set(`${queue}\n${found.signature}`, [algorithm, queue, found.signature]);
  if (found.signature === row.signature) return;
  groups.know(found, { queue, ref });
  const to = groups.numberOf(queue, row.buried_at, { ...judgementOf(row), ...found, algorithm });
  moves.set(to, [...(moves.get(to) ?? []), row.no]);
  deltas.regrouped(row, { ...row, grp: to }, row.is_waiting === 1);
  if (counted === null) return;
  deltas.group(grp, counted, -1);
  deltas.group(to, counted, 1);
}

function judgementOf({ error_type, error_class, eligible, review }: Row) {
  return {
    errorType: error_type,
    errorClass: error_class,
    reprocessEligible: eligible === 1,
    manualReviewRequired: review === 1,
  };
}

/** The message of the last failed attempt, by which groups are split. */
function lastMessage(session: Session, ref: number): string {
  const sql = `SELECT json_extract(failure, '$.error_message') AS message FROM attempts
                WHERE ref = ? AND failure IS NOT NULL ORDER BY number DESC LIMIT 1`;
  return session.get<{ message: string | null }>(sql, ref)?.message ?? "";
}

function writeMoves({ session, moves, algorithms }: Work): number {
  let changed = 0;
  for (const [to, numbers] of moves) {
    for (const table of ["letters", "resolved_letters"] as const) {
      const sql = `UPDATE ${table} SET grp = ? WHERE no IN (SELECT value FROM json_each(?))`;
      changed += session.run(sql, to, JSON.stringify(numbers)).changes;
    }
  }
  for (const values of algorithms.values()) {
    session.run(
      "UPDATE groups SET algorithm = ?1 WHERE queue = ?2 AND signature = ?3 AND algorithm <> ?1",
      ...values,
    );
  }
  return changed;
}
