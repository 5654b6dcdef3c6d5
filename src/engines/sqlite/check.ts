/** `store check` for SQLite: checks the file's integrity, then runs every invariant as a query that must find nothing. */
import { statSync } from "node:fs";
import type { Problem, StoreInfo } from "../../engine.ts";
import { findProblems, PROBLEMS_MAX, storeTotals } from "../sql/check.ts";
import { sharedRules } from "../sql/check-rules.ts";
import { checkJson } from "./check-json.ts";
import { RULES } from "./check-rules.ts";
import { checkTexts } from "./check-texts.ts";
import { runOn } from "./db.ts";
import { MIGRATIONS } from "./schema.ts";
import type { Session } from "./session.ts";

/** Call in a transaction, so that all queries see the same snapshot. */
export function checkStore(session: Session): Problem[] {
  renewTexts(session);
  const broken = session
    .all<{ integrity_check: string }>(`PRAGMA integrity_check(${PROBLEMS_MAX})`)
    .map((row) => row.integrity_check)
    .filter((line) => line !== "ok")
    .map((detail) => ({ rule: "integrity", detail }));
  if (broken.length > 0) return broken; // the other checks would only report the same damage
  const orphans = session
    .all<{ table: string; rowid: number | null; parent: string }>("PRAGMA foreign_key_check")
    .map((row) => ({
      rule: "integrity",
      detail: `${row.table} ${row.rowid ?? ""} points at no row of ${row.parent}`,
    }));
  const violations = runOn(session, (db) => findProblems(db, [RULES, ...sharedRules(db.sql, "selections")]));
  const texts = [...checkJson(session, PROBLEMS_MAX), ...checkTexts(session, PROBLEMS_MAX)];
  return [...orphans, ...violations, ...texts].slice(0, PROBLEMS_MAX);
}

/**
 * Queries the text index, which refreshes its cached structure. With a stale cache, SQLite's check would report damage if
 * another process has changed the index.
 */
function renewTexts(session: Session): void {
  for (const table of ["template_texts", "parameter_texts"])
    session.all(`SELECT 1 FROM ${table} WHERE ${table} MATCH '"..."' LIMIT 1`);
}

export function storeInfo(session: Session): StoreInfo {
  return {
    engine: session.inMemory ? "memory" : "sqlite",
    location: session.path,
    schemaVersion: MIGRATIONS.length,
    foundVersion: session.foundVersion,
    bytes: session.inMemory
      ? memoryBytes(session)
      : fileBytes(session.path) + fileBytes(`${session.path}-wal`),
    ...runOn(session, storeTotals),
  };
}

function memoryBytes(session: Session): number {
  const pages = session.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
  return pages * (session.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 0);
}

function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
