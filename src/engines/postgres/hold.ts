/** Items that a person takes out of the line in PostgreSQL, and puts back. */
import type { HoldBy, HoldReport } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import type { JsonObject } from "../../std/json.ts";
import { compact } from "../../std/json.ts";
import { EventLog } from "../sql/event-log.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { queueNo } from "./jobs.ts";
import { alignLanes } from "./lanes.ts";
import { joinLine, takeFromLine } from "./ready-items.ts";
import type { Tx } from "./session.ts";

interface HoldMove {
  readonly queue: string;
  readonly itemIds: readonly string[];
  readonly by: HoldBy;
  readonly to: "ready" | "held";
}

/** Held items still are in the way of younger ones of their lanes. An id that is named twice is refused the second time. */
export async function moveHeld(tx: Tx, { queue: name, itemIds, by, to }: HoldMove): Promise<HoldReport> {
  const queue = await queueNo(tx, name);
  const found = await itemsOf(tx, queue, itemIds);
  const from = to === "held" ? "ready" : "held";
  const asked = [...new Set(itemIds)].flatMap((itemId) => {
    const row = found.get(itemId);
    return row?.state === from ? [row.ref] : [];
  });
  if (to === "held") await takeFromLine(tx, asked);
  const moved = await move(tx, asked, to);
  await alignLanes(
    tx,
    moved.flatMap(({ lane }) => (lane === null ? [] : [{ queue, lane }])),
  );
  if (to === "ready")
    await joinLine(
      tx,
      moved.map(({ ref }) => ref),
    );
  await tell(tx, { queue, moved, by, to });
  return report(itemIds, moved, await itemsOf(tx, queue, itemIds));
}

interface Row {
  readonly ref: number;
  readonly item_id: string;
  readonly state: ItemState;
  readonly lane: string | null;
}

async function itemsOf(tx: Tx, queue: number, itemIds: readonly string[]): Promise<ReadonlyMap<string, Row>> {
  const rows = await tx.all<Row>(
    "SELECT ref, item_id, state, lane FROM items WHERE queue = ? AND item_id = ANY (?::text[])",
    queue,
    itemIds,
  );
  return new Map(rows.map((row) => [row.item_id, row]));
}

/** Those that still are where they were: one that was leased meanwhile is not. */
async function move(tx: Tx, refs: readonly number[], to: "ready" | "held"): Promise<Row[]> {
  const rows = await tx.all<Row>(
    `UPDATE items SET state = ?1 WHERE ref = ANY (?2::bigint[]) AND state = ?3 RETURNING ref, item_id, state, lane`,
    to,
    refs,
    to === "held" ? "ready" : "held",
  );
  const order = new Map(refs.map((ref, place) => [ref, place]));
  return rows.sort((a, b) => (order.get(a.ref) ?? 0) - (order.get(b.ref) ?? 0));
}

async function tell(
  tx: Tx,
  told: Pick<HoldMove, "by" | "to"> & { readonly queue: number; readonly moved: readonly Row[] },
): Promise<void> {
  const { queue, moved, by, to } = told;
  const type = to === "held" ? "item_held" : "item_released";
  const data: JsonObject = compact({ author: by.author, reason: by.reason });
  const [events, deltas] = [new EventLog(tx.now), new CounterDeltas()];
  for (const { ref } of moved) {
    events.add({ type, data }, { queue, ref });
    deltas.move(queue, to === "held" ? "ready" : "held", to);
  }
  await deltas.write(tx);
  await writeEvents(tx, events);
}

function report(
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
