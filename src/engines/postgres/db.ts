/** PostgreSQL behind the port of `engines/sql/`: a step yields each statement's promise. */
import { assert } from "../../std/assert.ts";
import type { ClockStep } from "../sql/clock-steps.ts";
import {
  type Db,
  type Dialect,
  runAwaiting,
  type Scalar,
  type SqlValue,
  type Step,
  wait,
} from "../sql/db.ts";
import type { Deltas } from "../sql/deltas.ts";
import type { EventLog } from "../sql/event-log.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { ERRORS } from "./migrations/version-2.ts";
import { leaveLine, takeFromLine } from "./ready-items.ts";
import type { Tx } from "./session.ts";

const DIALECT: Dialect = {
  among: (column, parameter, type = "bigint") => `${column} = ANY (${parameter}::${type}[])`,
  typed: (parameter, type) => `${parameter}::${type}`,
  larger: (a, b) => `greatest(${a}, ${b})`,
  smaller: (a, b) => `least(${a}, ${b})`,
  relation: (name, columns, rows) => ({
    sql: `unnest(${Object.values(columns)
      .map((type) => `?::${type}[]`)
      .join(", ")}) AS ${name} (${Object.keys(columns).join(", ")})`,
    values: Object.keys(columns).map((_, at) => rows.map((row) => row[at] ?? null)),
  }),
  amongSelected: (column, select) => `${column} = ANY (ARRAY (${select}))`,
  jsonArray: (values) => `json_agg(${values})::text`,
  jsonText: (column, key) => `(${column}::json ->> '${key}') COLLATE "C"`,
  indexedBy: () => "",
  joinInOrder: "JOIN",
  errors: ERRORS,
  queueTotals: "queue_totals",
  forUpdate: "FOR UPDATE",
  forShare: "FOR SHARE",
};

export class PostgresDb implements Db {
  readonly sql = DIALECT;
  readonly tx: Tx;

  constructor(tx: Tx) {
    this.tx = tx;
  }

  get now(): number {
    return this.tx.now;
  }

  *get<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row | undefined> {
    return (yield this.tx.get<Row>(sql, ...values)) as Row | undefined;
  }

  *all<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row[]> {
    return (yield this.tx.all<Row>(sql, ...values)) as Row[];
  }

  *run(sql: string, ...values: readonly SqlValue[]): Step<number> {
    return (yield this.tx.run(sql, ...values)) as number;
  }

  *insert(into: string, rows: readonly (readonly Scalar[])[], onConflict?: string): Step<number> {
    return (yield this.tx.insert(into, rows, onConflict)) as number;
  }

  *notify({ name }: { readonly name: string }): Step<void> {
    yield this.tx.notify(name);
  }

  *writeEvents(events: EventLog): Step<void> {
    yield writeEvents(this.tx, events);
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

  *beforeUnready(refs: readonly number[]): Step<void> {
    yield leaveLine(this.tx, refs);
  }

  afterUnready(): Step<void> {
    return wait(undefined);
  }

  *beforeDelete(refs: readonly number[]): Step<void> {
    yield takeFromLine(this.tx, refs);
  }

  /** A retry that was written after the step has its time by the new clock already. */
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

  *deleteQueueState(queue: number): Step<void> {
    for (const table of ["lanes", "lane_heads"])
      yield this.tx.run(`DELETE FROM ${table} WHERE queue = ?`, queue);
    yield this.tx.run("DELETE FROM leases WHERE holder IN (SELECT no FROM holders WHERE queue = ?)", queue);
  }

  reindexTexts(): Step<void> {
    return wait(undefined);
  }
}

/** Runs a shared step inside the transaction. */
export function runOn<T>(tx: Tx, steps: (db: Db) => Step<T>): Promise<T> {
  return runAwaiting(steps(new PostgresDb(tx)));
}
