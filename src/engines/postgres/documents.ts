/** Small documents that processes share, in PostgreSQL. Each has a version that goes up with every writing. */
import type { Exchange, Exchanged, SharedDocument } from "../../engine.ts";
import { assertFreeName, gateName } from "../../item/document.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import type { Tx } from "./session.ts";

export async function readDocument(tx: Tx, name: string): Promise<SharedDocument | null> {
  const sql = "SELECT version, body FROM documents WHERE name = ?";
  const row = await tx.get<{ version: number; body: string }>(sql, name);
  return row === undefined ? null : { version: row.version, body: JSON.parse(row.body) as Json };
}

/** False when somebody else was first. */
export async function writeDocument(
  tx: Tx,
  name: string,
  { seen, body }: { readonly seen: number; readonly body: Json },
): Promise<boolean> {
  assertFreeName(name);
  return writeSeen(tx, name, { seen, body });
}

/** A gate as an exchange found and left it. */
export interface Passage {
  /** Whether it was the one that was seen: only then anything may be leased. */
  readonly isOpen: boolean;
  readonly isWritten: boolean;
  readonly gate: Exchanged["gate"];
}

/** Writes what the exchange makes of the gate, if it is the one that was seen. The event is the caller's. */
export async function passGate(tx: Tx, asked: Exchange["gate"]): Promise<Passage> {
  if (asked === undefined) return { isOpen: true, isWritten: false, gate: null };
  const { seen, next } = asked;
  const name = gateName(asked.queue);
  if (next !== undefined && (await writeSeen(tx, name, { seen, body: next }))) {
    return { isOpen: true, isWritten: true, gate: { version: seen + 1, body: next } };
  }
  const found = await readDocument(tx, name);
  const gate = found === null ? null : { version: found.version, body: found.body as JsonObject };
  return { isOpen: next === undefined && (found?.version ?? 0) === seen, isWritten: false, gate };
}

async function writeSeen(
  tx: Tx,
  name: string,
  { seen, body }: { readonly seen: number; readonly body: Json },
): Promise<boolean> {
  const text = JSON.stringify(body);
  const written =
    seen === 0
      ? await tx.run(
          "INSERT INTO documents (name, version, body) VALUES (?, 1, ?) ON CONFLICT DO NOTHING",
          name,
          text,
        )
      : await tx.run(
          "UPDATE documents SET version = version + 1, body = ? WHERE name = ? AND version = ?",
          text,
          name,
          seen,
        );
  return written > 0;
}
