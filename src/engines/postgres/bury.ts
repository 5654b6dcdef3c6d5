/**
 * Writes letters in batches with a few statements and counts them in the same transaction. Requires the letter lock, so that
 * letters are committed in the order of their numbers.
 */

import type { DeathRecord } from "../../item/item.ts";
import { assert } from "../../std/assert.ts";
import { foldMessage, headerValues } from "../sql/bury.ts";
import { runAwaiting } from "../sql/db.ts";
import type { GroupCache } from "../sql/group-cache.ts";
import type { LetterTable } from "../sql/letters.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import { DIALECT } from "./dialect.ts";
import type { Tx } from "./session.ts";

export interface Burial {
  readonly ref: number;
  readonly queue: number;
  /** The result of `groupAll`. */
  readonly death: DeathRecord;
  /** The error message of the last failure. */
  readonly message: string;
  /** When the item failed for the first time. */
  readonly firstAt: number;
}

/** Numbers the letters in the given order. The caller updates the group records with `groups.buried`, one by one. */
export async function buryAll(
  { tx, deltas, groups }: { tx: Tx; deltas: CounterDeltas; groups: GroupCache },
  burials: readonly Burial[],
): Promise<void> {
  if (burials.length === 0) return;
  const at = tx.now;
  const numbers = await runAwaiting(
    groups.numbersOf(burials.map(({ queue, death }) => ({ queue, at, header: death }))),
  );
  for (const [position, { ref, queue, firstAt }] of burials.entries()) {
    const grp = numbers[position];
    assert(grp !== undefined, `the letter of item ${ref} has no group`);
    deltas.buried({ grp, buried_at: at, first_at: firstAt });
    deltas.queue(queue, "letters", 1);
  }
  const headers = burials.map(({ death, message, firstAt }) =>
    headerValues(DIALECT, death, { message, firstAt }),
  );
  tx.part(
    tx.run(
      BURY,
      burials.length,
      at,
      burials.map(({ ref }) => ref),
      numbers,
      ...BURIED.map((_, column) => headers.map((header) => header[column] ?? null)),
    ),
  );
}

const TAKE = `
  UPDATE letter_numbers SET last = last + ?1::bigint, latest_at = greatest(latest_at, ?2::bigint),
         unordered = CASE WHEN ?2::bigint < latest_at THEN last + ?1::bigint ELSE unordered END RETURNING last`;

/** Columns of letters that died in this store. The other two columns are set only for imported letters. */
const BURIED = Object.entries(DIALECT.letterHeader).filter(
  ([column]) => column !== "arrived_at" && column !== "source_signature",
);
const COLUMNS = BURIED.map(([column]) => column).join(", ");

const BURY = `
  WITH taken AS (${TAKE})
  INSERT INTO letters (no, ref, grp, buried_at, ${COLUMNS})
  SELECT t.last - ?1::bigint + b.position, b.ref, b.grp, ?2::bigint, ${BURIED.map(([column]) => `b.${column}`).join(", ")}
    FROM taken t CROSS JOIN unnest(?3::bigint[], ?4::bigint[], ${BURIED.map(([, type], at) => `?${at + 5}::${type}[]`).join(", ")})
                            WITH ORDINALITY AS b (ref, grp, ${COLUMNS}, position)`;

/** Updates the message of letters in retry that failed again, because text search uses the last message. */
export async function failedAgain(
  tx: Tx,
  failures: readonly { readonly ref: number; readonly message: string }[],
): Promise<void> {
  if (failures.length === 0) return;
  await tx.run(
    `UPDATE letters l SET message = f.message FROM unnest(?::bigint[], ?::text[]) AS f (ref, message)
      WHERE l.ref = f.ref`,
    failures.map(({ ref }) => ref),
    failures.map(({ message }) => foldMessage(message)),
  );
}

/** Sets the messages of letters copied from another store. Their attempts are copied before them. */
export async function recallMessages(tx: Tx, table: LetterTable, numbers: readonly number[]): Promise<void> {
  const rows = await tx.all<{ ref: number; failure: string }>(
    `SELECT l.ref, a.failure FROM ${table} l CROSS JOIN LATERAL
            (SELECT failure FROM attempts WHERE ref = l.ref AND failure IS NOT NULL ORDER BY number DESC LIMIT 1) a
      WHERE l.no = ANY (?::bigint[])`,
    numbers,
  );
  await tx.run(
    `UPDATE ${table} l SET message = f.message FROM unnest(?::bigint[], ?::text[]) AS f (ref, message)
      WHERE l.ref = f.ref`,
    rows.map(({ ref }) => ref),
    rows.map(({ failure }) => foldMessage(messageIn(failure))),
  );
}

function messageIn(failure: string): string {
  const { error_message: message } = JSON.parse(failure) as { readonly error_message?: unknown };
  return typeof message === "string" ? message : "";
}
