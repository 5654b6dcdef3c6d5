/** What people said about where letters belong, in PostgreSQL. There are few: they are read together. */
import { compact } from "../../item/failure.ts";
import type { Correction } from "../../item/group.ts";
import { assert } from "../../kit/assert.ts";
import type { Tx } from "./session.ts";

/** Replaces the one with the same origin and text, and is the newest then. Under the book, for burials obey it. */
export async function correct(
  tx: Tx,
  { from, text, to, pattern, author }: Omit<Correction, "at">,
): Promise<void> {
  assert(from !== to, `group ${from} is corrected to itself`);
  assert(text !== "", `group ${from} is split by an empty text`);
  await removeCorrection(tx, from, text);
  await tx.insert("corrections (origin, folded, text, target, pattern, author, at)", [
    [from, foldedOf(text), text ?? null, to, pattern, author, tx.now],
  ]);
}

export async function removeCorrection(tx: Tx, from: string, text?: string): Promise<boolean> {
  const sql = "DELETE FROM corrections WHERE origin = ? AND folded = ?";
  return (await tx.run(sql, from, foldedOf(text))) > 0;
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

/** Oldest first: a new one gets the highest number. */
export async function listCorrections(tx: Tx): Promise<Correction[]> {
  const rows = await tx.all<CorrectionRow>(
    "SELECT origin, text, target, pattern, author, at FROM corrections ORDER BY no",
  );
  return rows.map(({ origin, text, target, pattern, author, at }) =>
    compact({ from: origin, text: text ?? undefined, to: target, pattern, author, at }),
  );
}
