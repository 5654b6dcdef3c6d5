/** What helped against a failure, in SQLite: one row for each signature, redrive and way, counted as letters succeed. */
import type { GroupFix } from "../../item/group.ts";
import type { ResolutionKind } from "../../item/letter.ts";
import { type FixRow, fixOf } from "../fix-row.ts";
import type { Session } from "./session.ts";

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

export function countFix(session: Session, fix: FixSum, at: number): void {
  session.run(
    `INSERT INTO group_fixes (signature, operation, kind, at, count, edit, rule, waited_ms, author)
     SELECT ?, coalesce(o.id, ''), ?, ?, ?, ?, ?, ?, o.author FROM (SELECT 1) LEFT JOIN operations o ON o.no = ? WHERE true
     ON CONFLICT (signature, operation, kind) DO UPDATE SET at = excluded.at, count = count + excluded.count,
            edit = excluded.edit, rule = excluded.rule, waited_ms = min(waited_ms, excluded.waited_ms)`,
    ...[fix.signature, fix.kind, at, fix.count, fix.edit, fix.rule, fix.waitedMs, fix.operation],
  );
}

const FIXES_MAX = 10;

/** Newest first. */
export function listFixes(session: Session, signature: string): GroupFix[] {
  const rows = session.all<FixRow>(
    `SELECT operation, kind, at, count, edit, rule, author, waited_ms FROM group_fixes WHERE signature = ?
      ORDER BY at DESC, no DESC LIMIT ${FIXES_MAX}`,
    signature,
  );
  return rows.map(fixOf);
}
