/** A letter of an operation's selection, as both SQL stores write it down. */

import type { SelectedLetter } from "../item/operation.ts";
import { compact } from "../std/json.ts";

export interface SelectedRow {
  readonly no: number;
  readonly ref: number;
  readonly item_id: string;
  readonly signature: string;
  readonly status: SelectedLetter["status"];
  readonly reason: string | null;
}

export function selectedOf(row: SelectedRow): SelectedLetter {
  return compact({
    letterSequence: row.no,
    ref: row.ref,
    itemId: row.item_id,
    signature: row.signature,
    status: row.status,
    reason: row.reason ?? undefined,
  });
}
