/**
 * Deletes letters. Of a dead or discarded one only the item's bare row remains; a resolved one loses its record.
 */
import { removeLetter } from "./bury.ts";
import { moveRow } from "./move.ts";
import type { Row, Store } from "./store.ts";

/** Counts the removal permanently. */
export function deleteLetter(store: Store, row: Row, kind: "purge" | "clear" | "evict"): void {
  row.queue[kind === "evict" ? "evicted" : "purged"] += 1;
  removeLetter(store, row);
  if (row.state === "done") return;
  if (row.state === "dead") moveRow(row, "discard");
  leaveLane(row);
  row.purged = true;
  row.data = null;
  row.name = undefined;
  row.expiresAt = undefined;
  row.notes = [];
  row.attempts = [];
  row.amendments = [];
  row.lateResults = [];
}

function leaveLane(row: Row): void {
  if (row.orderingKey === undefined) return;
  const { orderingKeys } = row.queue;
  orderingKeys.set(
    row.orderingKey,
    (orderingKeys.get(row.orderingKey) ?? []).filter((other) => other !== row),
  );
  row.orderingKey = undefined;
}
