/** SQLite behind the port of `engines/sql/`: every statement is answered at once. */
import { assert } from "../../std/assert.ts";
import type { ClockStep } from "../sql/clock-steps.ts";
import { type Db, type Dialect, runNow, type Scalar, type SqlValue, type Step, wait } from "../sql/db.ts";
import type { Deltas } from "../sql/deltas.ts";
import type { EventLog } from "../sql/event-log.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { putLanesInOrder } from "./lanes.ts";
import { ERRORS } from "./migrations/version-3.ts";
import type { Session, Value } from "./session.ts";
import { readAgain } from "./text-index.ts";

const DIALECT: Dialect = {
  among: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  typed: (parameter) => parameter,
  larger: (a, b) => `max(${a}, ${b})`,
  smaller: (a, b) => `min(${a}, ${b})`,
  relation: (name, columns, rows) => ({
    sql: `(SELECT ${Object.keys(columns)
      .map((column, at) => `value ->> ${at} AS ${column}`)
      .join(", ")} FROM json_each(?)) AS ${name}`,
    values: [JSON.stringify(rows)],
  }),
  amongSelected: (column, select) => `${column} IN (${select})`,
  jsonArray: (values) => `json_group_array(${values})`,
  jsonText: (column, key) => `${column} ->> '${key}'`,
  indexedBy: (index) => `INDEXED BY ${index}`,
  joinInOrder: "CROSS JOIN",
  errors: ERRORS,
  queueTotals: "queues",
  forUpdate: "", // a write transaction has the file to itself
  forShare: "",
};

export class SqliteDb implements Db {
  readonly sql = DIALECT;
  readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  get now(): number {
    return this.session.clock.now();
  }

  get<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row | undefined> {
    return wait(this.session.get<Row>(sql, ...values.map(stored)));
  }

  all<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row[]> {
    return wait(this.session.all<Row>(sql, ...values.map(stored)));
  }

  run(sql: string, ...values: readonly SqlValue[]): Step<number> {
    return wait(this.session.run(sql, ...values.map(stored)).changes);
  }

  insert(into: string, rows: readonly (readonly Scalar[])[], onConflict?: string): Step<number> {
    return wait(
      this.session.insert(
        into,
        rows.map((row) => row.map(stored)),
        onConflict,
      ).changes,
    );
  }

  notify({ no }: { readonly no: number }): Step<void> {
    return wait(this.session.notify(no));
  }

  writeEvents(events: EventLog): Step<void> {
    return wait(writeEvents(this.session, events));
  }

  newDeltas(): Deltas {
    return new CounterDeltas();
  }

  writeDeltas(deltas: Deltas): Step<void> {
    assert(deltas instanceof CounterDeltas, "the sums are of another store");
    return wait(deltas.write(this.session));
  }

  lockReadyLetters(operation: number): Step<{ no: number; grp: number; ref: number }[]> {
    return wait(
      this.session.all(
        `SELECT l.no, l.grp, l.ref FROM items i JOIN letters l ON l.ref = i.ref WHERE i.operation = ? AND i.state = 'ready'`,
        operation,
      ),
    );
  }

  beforeUnready(): Step<void> {
    return wait(undefined);
  }

  afterUnready(refs: readonly number[]): Step<void> {
    this.session.run(`UPDATE items SET waits = 0 WHERE ${this.sql.among("ref", "?")}`, stored(refs));
    return wait(putLanesInOrder(this.session, refs));
  }

  beforeDelete(): Step<void> {
    return wait(undefined);
  }

  moveDueTimes({ stepMs, now }: ClockStep): Step<number> {
    return this.run(
      `UPDATE items SET due_at = CASE WHEN due_at > ?1 THEN due_at + ?2 ELSE ?3 END
        WHERE state IN ('ready', 'held', 'leased') AND ((due_at > ?1 AND attempts > 0) OR (due_at <= ?1 AND due_at > ?3))`,
      ...[now - stepMs, stepMs, now],
    );
  }

  deleteQueueState(): Step<void> {
    return wait(undefined);
  }

  reindexTexts(letterSequences: readonly number[]): Step<void> {
    return wait(readAgain(this.session, letterSequences));
  }
}

/** Runs a shared step inside the transaction of the session. */
export function runOn<T>(session: Session, steps: (db: Db) => Step<T>): T {
  return runNow(steps(new SqliteDb(session)));
}

function stored(value: SqlValue): Value {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
