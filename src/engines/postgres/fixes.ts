/** What helped against a failure, in PostgreSQL: one row for each signature, redrive and way, counted as letters succeed. */
import type { GroupFix } from "../../item/group.ts";
import type { ResolutionKind } from "../../item/letter.ts";
import { type FixRow, fixOf } from "../fix-row.ts";
import type { Tx } from "./session.ts";

/** The successes of one transaction that are one fix. The last of them says which edit it was. */
export interface FixSum {
  readonly signature: string;
  /** The number of the redrive. */
  readonly operation: number | null;
  readonly kind: ResolutionKind;
  readonly count: number;
  readonly edit: string | null;
  readonly rule: string | null;
  readonly waitedMs: number;
}

/** Their marks must be there. In the order of their first success, which the numbers keep. */
export async function countFixes(tx: Tx, fixes: readonly FixSum[], at: number): Promise<void> {
  if (fixes.length === 0) return;
  await tx.run(
    `INSERT INTO group_fixes AS f (signature, operation, kind, at, count, edit, rule, waited_ms, author)
     SELECT s.signature, coalesce(o.id, ''), s.kind, ?1::bigint, s.count, s.edit, s.rule, s.waited_ms, o.author
       FROM unnest(?2::text[], ?3::bigint[], ?4::text[], ?5::bigint[], ?6::text[], ?7::text[], ?8::bigint[])
            WITH ORDINALITY AS s (signature, operation, kind, count, edit, rule, waited_ms, place)
       LEFT JOIN operations o ON o.no = s.operation ORDER BY s.place
     ON CONFLICT (signature, operation, kind) DO UPDATE SET at = excluded.at, count = f.count + excluded.count,
            edit = excluded.edit, rule = excluded.rule, waited_ms = least(f.waited_ms, excluded.waited_ms)`,
    at,
    fixes.map(({ signature }) => signature),
    fixes.map(({ operation }) => operation),
    fixes.map(({ kind }) => kind),
    fixes.map(({ count }) => count),
    fixes.map(({ edit }) => edit),
    fixes.map(({ rule }) => rule),
    fixes.map(({ waitedMs }) => waitedMs),
  );
}

const FIXES_MAX = 10;

/** Of each signature, newest first. */
export async function fixesOf(
  tx: Tx,
  signatures: readonly string[],
): Promise<ReadonlyMap<string, readonly GroupFix[]>> {
  const rows = await tx.all<FixRow & { readonly signature: string }>(
    `SELECT s.signature, f.operation, f.kind, f.at, f.count, f.edit, f.rule, f.author, f.waited_ms
       FROM unnest(?::text[]) AS s (signature) CROSS JOIN LATERAL
            (SELECT * FROM group_fixes g WHERE g.signature = s.signature ORDER BY g.at DESC, g.no DESC LIMIT ${FIXES_MAX}) f
      ORDER BY f.at DESC, f.no DESC`,
    signatures,
  );
  const found = new Map<string, GroupFix[]>();
  for (const row of rows) found.set(row.signature, [...(found.get(row.signature) ?? []), fixOf(row)]);
  return found;
}
