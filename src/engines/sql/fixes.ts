/** Fixes: what resolved a failure. There is one row per signature, redrive and kind, counted as letters succeed. */
import type { GroupFix } from "../../item/group.ts";
import type { ResolutionKind } from "../../item/letter.ts";
import { compact } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";

/** The successes of one transaction that count as one fix. `edit` and `rule` are those of the last success. */
export interface FixSum {
  readonly signature: string;
  /** The number of the redrive operation. */
  readonly operation: number | null;
  readonly kind: ResolutionKind;
  readonly count: number;
  readonly edit: string | null;
  readonly rule: string | null;
  readonly waitedMs: number;
}

/** Adds fixes in the order of their first success, which their numbers keep. The records of their groups must exist. */
export function* countFixes(db: Db, fixes: readonly FixSum[]): Step<void> {
  if (fixes.length === 0) return;
  const sums = db.sql.relation(
    "s",
    {
      ...{ position: "bigint", signature: "text", operation: "bigint", kind: "text" },
      ...{ count: "bigint", edit: "text", rule: "text", waited_ms: "bigint" },
    },
    fixes.map(({ signature, operation, kind, count, edit, rule, waitedMs }, position) => [
      ...[position, signature, operation, kind, count, edit, rule, waitedMs],
    ]),
  );
  yield* db.run(
    `INSERT INTO group_fixes AS f (signature, operation, kind, at, count, edit, rule, waited_ms, author)
     SELECT s.signature, coalesce(o.id, ''), s.kind, ${db.sql.typed("?", "bigint")}, s.count, s.edit, s.rule, s.waited_ms, o.author
       FROM ${sums.sql} LEFT JOIN operations o ON o.no = s.operation WHERE true ORDER BY s.position
     ON CONFLICT (signature, operation, kind) DO UPDATE SET at = excluded.at, count = f.count + excluded.count,
            edit = excluded.edit, rule = excluded.rule, waited_ms = ${db.sql.smaller("f.waited_ms", "excluded.waited_ms")}`,
    db.now,
    ...sums.values,
  );
}

interface FixRow {
  readonly signature: string;
  readonly operation: string;
  readonly kind: ResolutionKind;
  readonly at: number;
  readonly count: number;
  readonly edit: string | null;
  readonly rule: string | null;
  readonly author: string | null;
  readonly waited_ms: number;
}

const FIXES_MAX = 10;

/** The latest fixes of each signature, newest first. */
export function* fixesOf(
  db: Db,
  signatures: readonly string[],
): Step<ReadonlyMap<string, readonly GroupFix[]>> {
  const rows = yield* db.all<FixRow>(
    `SELECT signature, operation, kind, at, count, edit, rule, author, waited_ms
       FROM (SELECT g.*, row_number() OVER (PARTITION BY signature ORDER BY at DESC, no DESC) AS position
               FROM group_fixes g WHERE ${db.sql.among("signature", "?", "text")}) f
      WHERE position <= ${FIXES_MAX} ORDER BY position`,
    signatures,
  );
  const found = new Map<string, GroupFix[]>();
  for (const row of rows) found.set(row.signature, [...(found.get(row.signature) ?? []), fixOf(row)]);
  return found;
}

function fixOf(row: FixRow): GroupFix {
  return compact({
    at: row.at,
    kind: row.kind,
    count: row.count,
    operationId: row.operation === "" ? undefined : row.operation,
    editId: row.edit ?? undefined,
    rule: row.rule ?? undefined,
    author: row.author ?? undefined,
    waitedMs: row.waited_ms,
  });
}
