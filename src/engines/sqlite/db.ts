/** Implements the database interface of `engines/sql/` for SQLite, where every statement is synchronous. */
import type { LetterFilter } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import type { ClockStep } from "../sql/clock-steps.ts";
import {
  call,
  type Db,
  type MatchingLetters,
  ReadingDb,
  runNow,
  type Scalar,
  type SqlValue,
  type Step,
} from "../sql/db.ts";
import type { Deltas } from "../sql/deltas.ts";
import type { EventLog } from "../sql/events.ts";
import { lastBurial, numberBurials } from "./bury.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { DIALECT } from "./dialect.ts";
import { writeEvents } from "./events.ts";
import { matching, sourcesIn } from "./letter-search.ts";
import { alignOrderingKeys } from "./ordering-keys.ts";
import type { Session } from "./session.ts";
import { indexAgain } from "./text-index.ts";

const nothing = () => call(() => undefined);
const notHere = () => call(() => null);

export class SqliteDb extends ReadingDb implements Db {
  readonly sql = DIALECT;
  readonly session: Session;
  // Only PostgreSQL needs these steps.
  readonly beforeDelete = nothing;
  readonly deleteLeases = nothing;
  readonly deleteQueueState = nothing;
  readonly redriveNext = notHere;

  constructor(session: Session) {
    super(session);
    this.session = session;
  }

  run(sql: string, ...values: readonly SqlValue[]): Step<number> {
    return call(() => this.session.run(sql, ...values).changes);
  }

  insert(into: string, rows: readonly (readonly Scalar[])[], onConflict?: string): Step<number> {
    return call(() => this.session.insert(into, rows, onConflict).changes);
  }

  notify({ no }: { readonly no: number }): Step<void> {
    return call(() => this.session.notify(no));
  }

  writeEvents(events: EventLog): Step<void> {
    return call(() => writeEvents(this.session, events));
  }

  newDeltas(): Deltas {
    return new CounterDeltas();
  }

  writeDeltas(deltas: Deltas): Step<void> {
    assert(deltas instanceof CounterDeltas, "the sums are of another store");
    return call(() => deltas.write(this.session));
  }

  lockReadyLetters(operation: number): Step<{ no: number; grp: number; ref: number }[]> {
    return call(() =>
      this.session.all(
        `SELECT l.no, l.grp, l.ref FROM items i JOIN letters l ON l.ref = i.ref WHERE i.operation = ? AND i.state = 'ready'`,
        operation,
      ),
    );
  }

  beforeUnready(refs: readonly number[]): Step<void> {
    return this.withdraw(refs);
  }

  /** Clears `waits`, which only ready items may have set. */
  *withdraw(refs: readonly number[]): Step<void> {
    yield* this.run(`UPDATE items SET waits = 0 WHERE ${this.sql.among("ref", "?")}`, refs);
  }

  realign(refs: readonly number[]): Step<void> {
    return call(() => alignOrderingKeys(this.session, refs));
  }

  moveDueTimes({ stepMs, now }: ClockStep): Step<number> {
    return this.run(
      `UPDATE items SET due_at = CASE WHEN due_at > ?1 THEN due_at + ?2 ELSE ?3 END
        WHERE state IN ('ready', 'held', 'leased') AND ((due_at > ?1 AND attempts > 0) OR (due_at <= ?1 AND due_at > ?3))`,
      ...[now - stepMs, stepMs, now],
    );
  }

  *offer(refs: readonly number[]): Step<void> {
    yield* this.realign(refs);
    const sql = `SELECT DISTINCT queue FROM items WHERE ${this.sql.among("ref", "?")}`;
    for (const { queue } of this.session.all<{ queue: number }>(sql, refs)) this.session.notify(queue);
  }

  *takeRefs(count: number): Step<readonly number[]> {
    const row = yield* this.get<{ last: number }>("SELECT coalesce(max(ref), 0) AS last FROM items");
    return Array.from({ length: count }, (_, at) => (row?.last ?? 0) + at + 1);
  }

  lastBurial(): Step<number> {
    return call(() => lastBurial(this.session));
  }

  *takeBurials(count: number): Step<number> {
    const last = yield* this.lastBurial();
    numberBurials(this.session, last + count);
    return last + 1;
  }

  lettersMatching(filter: LetterFilter): Step<readonly MatchingLetters[]> {
    return call(() =>
      sourcesIn(this.session, filter).map((source) => ({
        ...matching(this.session, source, filter),
        state: "i.state",
      })),
    );
  }

  lostRace(what: string): Error {
    return new Error(what); // cannot happen: write transactions are exclusive
  }

  reindexTexts(letterSequences: readonly number[]): Step<void> {
    return call(() => indexAgain(this.session, letterSequences));
  }
}

/** Runs a shared step inside the transaction of the session. */
export function runOn<T>(session: Session, steps: (db: Db) => Step<T>): T {
  return runNow(steps(new SqliteDb(session)));
}
