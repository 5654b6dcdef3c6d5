/** Small documents that processes share, in SQLite. Each has a version that goes up with every writing. */
import type { Exchange, Exchanged, SharedDocument } from "../../engine.ts";
import { assertFreeName, gateName } from "../../item/document.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import type { Session } from "./session.ts";

export function readDocument(session: Session, name: string): SharedDocument | null {
  const sql = "SELECT version, body FROM documents WHERE name = ?";
  const row = session.get<{ version: number; body: string }>(sql, name);
  return row === undefined ? null : { version: row.version, body: JSON.parse(row.body) as Json };
}

/** False when somebody else was first. */
export function writeDocument(
  session: Session,
  name: string,
  { seen, body }: { readonly seen: number; readonly body: Json },
): boolean {
  assertFreeName(name);
  return writeSeen(session, name, seen, body);
}

/** A gate as an exchange found and left it. */
export interface Passage {
  /** Whether it was the one that was seen: only then anything may be leased. */
  readonly isOpen: boolean;
  readonly isWritten: boolean;
  readonly gate: Exchanged["gate"];
}

/** Writes what the exchange makes of the gate, if it is the one that was seen. The event is the caller's. */
export function passGate(session: Session, asked: Exchange["gate"]): Passage {
  if (asked === undefined) return { isOpen: true, isWritten: false, gate: null };
  const name = gateName(asked.queue);
  const found = readDocument(session, name);
  const isOpen = (found?.version ?? 0) === asked.seen;
  if (isOpen && asked.next !== undefined) {
    writeSeen(session, name, asked.seen, asked.next);
    return { isOpen, isWritten: true, gate: { version: asked.seen + 1, body: asked.next } };
  }
  const gate = found === null ? null : { version: found.version, body: found.body as JsonObject };
  return { isOpen, isWritten: false, gate };
}

function writeSeen(session: Session, name: string, seen: number, body: Json): boolean {
  const text = JSON.stringify(body);
  const sql =
    seen === 0
      ? "INSERT INTO documents (version, body, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
      : "UPDATE documents SET version = ?, body = ? WHERE name = ? AND version = ?";
  const values = [seen + 1, text, name];
  return session.run(sql, ...(seen === 0 ? values : [...values, seen])).changes > 0;
}
