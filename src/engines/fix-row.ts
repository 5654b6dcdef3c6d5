/** What has helped against a group, as both SQL stores write it down. */

import type { GroupFix } from "../item/group.ts";
import type { ResolutionKind } from "../item/letter.ts";
import { compact } from "../std/json.ts";

export interface FixRow {
  readonly operation: string;
  readonly kind: ResolutionKind;
  readonly at: number;
  readonly count: number;
  readonly edit: string | null;
  readonly rule: string | null;
  readonly author: string | null;
  readonly waited_ms: number;
}

export function fixOf(row: FixRow): GroupFix {
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
