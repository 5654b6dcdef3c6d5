/** Small documents that processes share. Each has a version that increases with every write. */
import type { SettleAndLease, SettleAndLeaseResult, SharedDocument } from "../../engine.ts";
import { assertFreeName, gateName, type RecordedChange } from "../../item/store-queries.ts";
import { type Json, type JsonObject, parseJson, stringifyJson } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { recordChange } from "./recorded-change.ts";

export function* readDocument(db: Db, name: string): Step<SharedDocument | null> {
  const sql = "SELECT version, body FROM documents WHERE name = ?";
  const row = yield* db.get<{ version: number; body: string }>(sql, name);
  return row === undefined ? null : { version: row.version, body: parseJson(row.body) as Json };
}

/** Returns false if another process has written the document since it was read. */
export function* writeDocument(
  db: Db,
  name: string,
  { change, ...document }: { readonly seen: number; readonly body: Json; readonly change?: RecordedChange },
): Step<boolean> {
  assertFreeName(name);
  const isWritten = yield* writeSeen(db, name, document);
  if (isWritten && change !== undefined) yield* recordChange(db, change);
  return isWritten;
}

/** The state of a queue's gate in a step. */
export interface Passage {
  /** Whether the runner has seen the current version of the gate. Otherwise nothing may be leased. */
  readonly isOpen: boolean;
  readonly isWritten: boolean;
  readonly gate: SettleAndLeaseResult["gate"];
}

/** Writes the next version of the gate if the runner has seen the current one. The caller writes the event. */
export function* passGate(db: Db, asked: SettleAndLease["gate"]): Step<Passage> {
  if (asked === undefined) return { isOpen: true, isWritten: false, gate: null };
  const { seen, next } = asked;
  const name = gateName(asked.queue);
  if (next !== undefined && (yield* writeSeen(db, name, { seen, body: next }))) {
    return { isOpen: true, isWritten: true, gate: { version: seen + 1, body: next } };
  }
  const found = yield* readDocument(db, name);
  const gate = found === null ? null : { version: found.version, body: found.body as JsonObject };
  return { isOpen: next === undefined && (found?.version ?? 0) === seen, isWritten: false, gate };
}

function* writeSeen(
  db: Db,
  name: string,
  { seen, body }: { readonly seen: number; readonly body: Json },
): Step<boolean> {
  const sql =
    seen === 0
      ? "INSERT INTO documents (version, body, name) VALUES (1, ?, ?) ON CONFLICT DO NOTHING"
      : "UPDATE documents SET version = version + 1, body = ? WHERE name = ? AND version = ?";
  const values = [stringifyJson(body), name];
  return (yield* db.run(sql, ...(seen === 0 ? values : [...values, seen]))) > 0;
}
