/** Corrections by which people move letters of one group to another. There are few, so all are read at once. */
import type { Correction } from "../../item/group.ts";
import { assert } from "../../std/assert.ts";
import { compact } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";

/** Adds a correction as the newest one; it replaces the correction with the same origin and text. */
export function* correct(db: Db, { from, text, to, pattern, author }: Omit<Correction, "at">): Step<void> {
  assert(from !== to, `group ${from} is corrected to itself`);
  assert(text !== "", `group ${from} is split by an empty text`);
  yield* removeCorrection(db, from, text);
  yield* db.insert("corrections (origin, folded, text, target, pattern, author, at)", [
    [from, foldedOf(text), text ?? null, to, pattern, author, db.now],
  ]);
}

/** Returns false if there is no such correction. */
export function* removeCorrection(db: Db, from: string, text?: string): Step<boolean> {
  const sql = "DELETE FROM corrections WHERE origin = ? AND folded = ?";
  return (yield* db.run(sql, from, foldedOf(text))) > 0;
}

function foldedOf(text: string | undefined): string {
  return text?.toLowerCase() ?? "";
}

interface CorrectionRow {
  readonly origin: string;
  readonly text: string | null;
  readonly target: string;
  readonly pattern: string;
  readonly author: string;
  readonly at: number;
}

/** Lists all corrections, oldest first. */
export function* listCorrections(db: Db): Step<Correction[]> {
  const rows = yield* db.all<CorrectionRow>(
    "SELECT origin, text, target, pattern, author, at FROM corrections ORDER BY no",
  );
  return rows.map(({ origin, text, target, pattern, author, at }) =>
    compact({ from: origin, text: text ?? undefined, to: target, pattern, author, at }),
  );
}
