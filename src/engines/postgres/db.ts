/** Implements the `Db` port of `engines/sql/` on PostgreSQL: each step yields the promise of its statement. */
import type { LetterFilter } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import type { Work, Worked } from "../sql/advance.ts";
import type { ClockStep } from "../sql/clock-steps.ts";
import {
  call,
  type Db,
  type MatchingLetters,
  ReadingDb,
  runAwaiting,
  type Scalar,
  type SqlValue,
  type Step,
} from "../sql/db.ts";
import type { Deltas } from "../sql/deltas.ts";
import type { EventLog } from "../sql/events.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { DIALECT } from "./dialect.ts";
import { writeEvents } from "./events.ts";
import { lettersMatching } from "./letter-search.ts";
import { alignOrderingKeys, joinLine, leaveLine, type OrderingKey, takeFromLine } from "./ordering-keys.ts";
import { sendBack } from "./send-back.ts";
import type { Tx } from "./session.ts";
import { lostRace } from "./trouble.ts";

export class PostgresDb extends ReadingDb implements Db {
  readonly sql = DIALECT;
  readonly tx: Tx;
  /** A PostgreSQL store has no text index. */
  readonly reindexTexts = () => call(() => undefined);

  constructor(tx: Tx) {
    super(tx);
    this.tx = tx;
  }

  run(sql: string, ...values: readonly SqlValue[]): Step<number> {
    return call(() => this.tx.run(sql, ...values));
  }

  insert(into: string, rows: readonly (readonly Scalar[])[], onConflict?: string): Step<number> {
    return call(() => this.tx.insert(into, rows, onConflict));
  }

  *notify({ name }: { readonly name: string }): Step<void> {
    yield this.tx.notify(name);
  }

  writeEvents(events: EventLog): Step<void> {
    return call(() => writeEvents(this.tx, events));
  }

  newDeltas(): Deltas {
    return new CounterDeltas();
  }

  *writeDeltas(deltas: Deltas): Step<void> {
    assert(deltas instanceof CounterDeltas, "the sums are of another store");
    yield deltas.write(this.tx);
  }

  *lockReadyLetters(operation: number): Step<{ no: number; grp: number; ref: number }[]> {
    return yield* this.all(
      `WITH sent AS MATERIALIZED (SELECT ref FROM selected WHERE operation = ?1 AND status = 'done'),
            back AS MATERIALIZED (
              SELECT ref FROM items WHERE ref = ANY (ARRAY (SELECT ref FROM sent)) AND operation = ?1 AND state = 'ready'
               ORDER BY ref FOR UPDATE)
       SELECT l.no, l.grp, l.ref FROM back CROSS JOIN LATERAL (SELECT no, grp, ref FROM letters WHERE ref = back.ref OFFSET 0) l`,
      operation,
    );
  }

  beforeUnready(refs: readonly number[]): Step<void> {
    return call(() => leaveLine(this.tx, refs));
  }

  withdraw(refs: readonly number[]): Step<void> {
    return call(() => takeFromLine(this.tx, refs));
  }

  *realign(refs: readonly number[]): Step<void> {
    const keys = yield* this.all<OrderingKey>(
      "SELECT DISTINCT queue, ordering_key FROM items WHERE ref = ANY (?::bigint[]) AND ordering_key IS NOT NULL",
      refs,
    );
    yield alignOrderingKeys(this.tx, keys);
  }

  offer(refs: readonly number[]): Step<void> {
    return call(() => joinLine(this.tx, refs));
  }

  *takeRefs(count: number): Step<readonly number[]> {
    if (count === 0) return [];
    const rows = yield* this.all<{ ref: number }>(
      "SELECT nextval(pg_get_serial_sequence('items', 'ref')) AS ref FROM generate_series(1, ?::int)",
      count,
    );
    return rows.map(({ ref }) => ref);
  }

  *lastBurial(): Step<number> {
    const row = yield* this.get<{ last: number }>("SELECT last FROM letter_numbers");
    assert(row, "the store has lost count of its burials");
    return row.last;
  }

  /** Sets `unordered`, because the numbers of imported letters may not follow their burial times. */
  *takeBurials(count: number, latestAt: number): Step<number> {
    const row = yield* this.get<{ last: number }>(
      `UPDATE letter_numbers SET last = last + ?1::bigint, latest_at = greatest(latest_at, ?2::bigint),
              unordered = last + ?1::bigint RETURNING last`,
      count,
      latestAt,
    );
    assert(row, "the store has lost count of its burials");
    return row.last - count + 1;
  }

  lettersMatching(filter: LetterFilter): Step<readonly MatchingLetters[]> {
    return lettersMatching(this, filter);
  }

  lostRace(what: string): Error {
    return lostRace(what);
  }

  beforeDelete(refs: readonly number[]): Step<void> {
    return call(() => takeFromLine(this.tx, refs));
  }

  /** A retry scheduled after the clock step already has the new time and is not moved. */
  *moveDueTimes({ stepMs, now }: ClockStep): Step<number> {
    const moved = yield* this.get<{ count: number }>(
      `WITH found AS (
         SELECT i.ref, i.due_at AS old,
                CASE WHEN i.due_at > ?1::bigint THEN i.due_at + ?2::bigint ELSE ?3::bigint END AS new
           FROM items i
          WHERE i.state IN ('ready', 'held', 'leased')
            AND ((i.due_at > ?1::bigint AND i.attempts > 0
                  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.ref = i.ref AND a.number = i.attempts
                                     AND a.ended_at > ?1::bigint))
                 OR (i.due_at <= ?1::bigint AND i.due_at > ?3::bigint))
            FOR UPDATE OF i),
       moved AS (
         UPDATE items i SET due_at = f.new FROM found f WHERE i.ref = f.ref
         RETURNING i.queue, i.priority, i.ref, f.old, f.new),
       placed AS (
         UPDATE ready_items l SET due_at = m.new FROM moved m
          WHERE l.queue = m.queue AND l.priority = m.priority AND l.due_at = m.old AND l.ref = m.ref)
       SELECT count(*) AS count FROM moved`,
      ...[now - stepMs, stepMs, now],
    );
    return moved?.count ?? 0;
  }

  *deleteLeases(holder: number): Step<void> {
    yield* this.run("DELETE FROM leases WHERE holder = ?", holder);
  }

  *deleteQueueState(queue: number): Step<void> {
    for (const table of ["ordered_items", "ordering_heads"])
      yield* this.run(`DELETE FROM ${table} WHERE queue = ?`, queue);
    yield* this.run("DELETE FROM leases WHERE holder IN (SELECT no FROM holders WHERE queue = ?)", queue);
  }

  redriveNext(work: Work): Step<Worked> {
    return call(() => sendBack(this.tx, work));
  }
}

/** Runs a shared step inside the transaction. */
export function runOn<T>(tx: Tx, steps: (db: Db) => Step<T>): Promise<T> {
  return runAwaiting(steps(new PostgresDb(tx)));
}
