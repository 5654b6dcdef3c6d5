/** Items that a person holds and releases. */
import type { HoldBy, HoldReport } from "../../../src/engine.ts";
import type { JsonObject } from "../../../src/std/json.ts";
import { compact } from "../../../src/std/json.ts";
import { record } from "./events.ts";
import { moveRow } from "./move.ts";
import { requireQueue, type Store } from "./store.ts";

/** Refuses items that are not ready. */
export function hold(store: Store, queue: string, itemIds: readonly string[], by: HoldBy): HoldReport {
  return moveEach(store, { queue, itemIds, by, move: "hold" });
}

/** Refuses items that are not held. */
export function unhold(store: Store, queue: string, itemIds: readonly string[], by: HoldBy): HoldReport {
  const report = moveEach(store, { queue, itemIds, by, move: "unhold" });
  return report;
}

interface HoldMove {
  readonly queue: string;
  readonly itemIds: readonly string[];
  readonly by: HoldBy;
  readonly move: "hold" | "unhold";
}

function moveEach(store: Store, { queue, itemIds, by, move }: HoldMove): HoldReport {
  const { byId } = requireQueue(store, queue);
  const from = move === "hold" ? "ready" : "held";
  const type = move === "hold" ? "item_held" : "item_released";
  const data: JsonObject = compact({ author: by.author, reason: by.reason });
  const refused: HoldReport["refused"][number][] = [];
  for (const itemId of itemIds) {
    const row = byId.get(itemId);
    if (row?.state === from) {
      moveRow(row, move);
      record(store, { type, queue, itemId, data });
    } else refused.push({ itemId, state: row?.state ?? null });
  }
  return { moved: itemIds.length - refused.length, refused };
}
