/** Writes and deletes rows of `letters`; the counters change in the same transaction. */
import type { DeathRecord } from "../../item/item.ts";
import { artifactsToJson } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import type { Db, Dialect, Scalar, Step } from "./db.ts";
import type { Deltas, NumberedLetter } from "./deltas.ts";
import { EventLog } from "./events.ts";
import { GroupCache } from "./group-cache.ts";

/** The counters, events and groups that a transaction collects and writes at its end. */
export interface Ledger {
  readonly db: Db;
  readonly deltas: Deltas;
  readonly events: EventLog;
  readonly groups: GroupCache;
}

export function newLedger(db: Db): Ledger {
  const events = new EventLog(db.now);
  return { db, deltas: db.newDeltas(), events, groups: new GroupCache(db, events) };
}

/** Writes the counters first, because the groups read them to see whether letters are still waiting. */
export function* writeLedger({ db, deltas, events, groups }: Ledger): Step<void> {
  yield* db.writeDeltas(deltas);
  yield* groups.write();
  yield* db.writeEvents(events);
}

/** The columns of `letters`, qualified with a table name if one is given. */
export function letterColumns(sql: Dialect, table?: string): string {
  const columns = ["no", "ref", "grp", "buried_at", ...Object.keys(sql.letterHeader)];
  return columns.map((column) => (table === undefined ? column : `${table}.${column}`)).join(", ");
}

/** The values of `Dialect.letterHeader`, in its order. `arrivedAt` is set only for imported letters. */
export function headerValues(
  sql: Dialect,
  { reason, worktreeArtifacts, poison, sourceSignature }: DeathRecord,
  { message, firstAt, arrivedAt }: { message: string; firstAt: number; arrivedAt?: number },
): Scalar[] {
  const artifacts =
    worktreeArtifacts === undefined ? null : stringifyJson(artifactsToJson(worktreeArtifacts));
  const values: Scalar[] = [reason, artifacts, poison ? 1 : 0];
  if ("message" in sql.letterHeader) values.push(foldMessage(message));
  values.push(firstAt, arrivedAt ?? null, sourceSignature ?? null);
  return values;
}

/**
 * Converts to lower case for searches. Done in JavaScript, because PostgreSQL's `lower` depends on the
 * server's locale.
 */
export function foldMessage(message: string): string {
  return message.toLowerCase();
}

/** A row that was deleted from `letters`, with the columns of its header. */
export interface Unburied extends NumberedLetter, Readonly<Record<string, Scalar>> {
  readonly no: number;
  readonly ref: number;
  readonly grp: number;
  readonly buried_at: number;
  readonly first_at: number;
  readonly signature: string;
}

/** Deletes the letters of these items and returns them by item. Attempts and failures stay with the items. */
export function* unburyAll(
  db: Db,
  deltas: Deltas,
  items: readonly { readonly ref: number; readonly queue: number }[],
): Step<ReadonlyMap<number, Unburied>> {
  if (items.length === 0) return new Map();
  const rows = yield* db.all<Unburied>(
    `DELETE FROM letters WHERE ${db.sql.among("ref", "?")}
     RETURNING ${letterColumns(db.sql)}, (SELECT signature FROM groups WHERE groups.no = letters.grp) AS signature`,
    items.map(({ ref }) => ref),
  );
  const letters = new Map(rows.map((row) => [row.ref, row]));
  for (const { ref, queue } of items) {
    const letter = letters.get(ref);
    assert(letter, `item ${ref} is redriven and no letter`);
    deltas.unburied(letter);
    deltas.queue(queue, "letters", -1);
  }
  return letters;
}
