/** Holds ready items on a person's request, and makes held items ready again. */
import type { HoldBy, HoldReport } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import { compact, type JsonObject } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { EventLog } from "./events.ts";
import { queueNo } from "./jobs.ts";

interface HoldMove {
  readonly queue: string;
  readonly itemIds: readonly string[];
  readonly by: HoldBy;
  readonly to: "ready" | "held";
}

/**
 * Held items still block younger items with the same ordering key. If an id is given twice, the second one is
 * refused.
 */
export function* moveHeld(db: Db, { queue: name, itemIds, by, to }: HoldMove): Step<HoldReport> {
  const queue = yield* queueNo(db, name);
  const from = to === "held" ? "ready" : "held";
  const found = yield* itemsOf(db, queue, itemIds);
  const asked = [...new Set(itemIds)].flatMap((itemId) => {
    const row = found.get(itemId);
    return row?.state === from ? [row.ref] : [];
  });
  if (to === "held") yield* db.withdraw(asked);
  // An item that was leased in the meantime is not moved.
  const rows = yield* db.all<Row>(
    `UPDATE items SET state = ?1 WHERE ${db.sql.among("ref", "?2")} AND state = ?3 RETURNING ref, item_id, state`,
    ...[to, asked, from],
  );
  const order = new Map(asked.map((ref, index) => [ref, index]));
  const moved = rows.sort((a, b) => (order.get(a.ref) ?? 0) - (order.get(b.ref) ?? 0));
  const refs = moved.map(({ ref }) => ref);
  yield* to === "held" ? db.realign(refs) : db.offer(refs);
  yield* record(db, { queue, refs, by, from, to });
  return reportOf(itemIds, moved, yield* itemsOf(db, queue, itemIds));
}

interface Row {
  readonly ref: number;
  readonly item_id: string;
  readonly state: ItemState;
}

function* itemsOf(db: Db, queue: number, itemIds: readonly string[]): Step<ReadonlyMap<string, Row>> {
  const rows = yield* db.all<Row>(
    `SELECT ref, item_id, state FROM items WHERE queue = ? AND ${db.sql.among("item_id", "?", "text")}`,
    queue,
    itemIds,
  );
  return new Map(rows.map((row) => [row.item_id, row]));
}

function* record(
  db: Db,
  move: Pick<HoldMove, "by" | "to"> & {
    readonly queue: number;
    readonly refs: readonly number[];
    readonly from: ItemState;
  },
): Step<void> {
  const { queue, refs, by, from, to } = move;
  const type = to === "held" ? "item_held" : "item_released";
  const data: JsonObject = compact({ author: by.author, reason: by.reason });
  const [events, deltas] = [new EventLog(db.now), db.newDeltas()];
  for (const ref of refs) {
    events.add({ type, data }, { queue, ref });
    deltas.move(queue, from, to);
  }
  yield* db.writeDeltas(deltas);
  yield* db.writeEvents(events);
}

function reportOf(
  itemIds: readonly string[],
  moved: readonly Row[],
  now: ReadonlyMap<string, Row>,
): HoldReport {
  const left = new Set(moved.map(({ item_id: itemId }) => itemId));
  const refused = itemIds.flatMap((itemId) =>
    left.delete(itemId) ? [] : [{ itemId, state: now.get(itemId)?.state ?? null }],
  );
  return { moved: moved.length, refused };
}
