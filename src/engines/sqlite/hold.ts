/** Items that a person takes out of the line in SQLite, and puts back. */
import type { HoldBy, HoldReport } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import type { JsonObject } from "../../std/json.ts";
import { compact } from "../../std/json.ts";
import { EventLog } from "../sql/event-log.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { queueNo } from "./jobs.ts";
import { Lanes } from "./lanes.ts";
import type { Session } from "./session.ts";

export function holdItems(
  session: Session,
  queue: string,
  itemIds: readonly string[],
  by: HoldBy,
): HoldReport {
  return moveEach(session, { queue, itemIds, by, from: "ready", to: "held" });
}

export function releaseItems(
  session: Session,
  queue: string,
  itemIds: readonly string[],
  by: HoldBy,
): HoldReport {
  return moveEach(session, { queue, itemIds, by, from: "held", to: "ready" });
}

interface HoldMove {
  readonly queue: string;
  readonly itemIds: readonly string[];
  readonly by: HoldBy;
  readonly from: "ready" | "held";
  readonly to: "ready" | "held";
}

function moveEach(session: Session, { queue, itemIds, by, from, to }: HoldMove): HoldReport {
  const no = queueNo(session, queue);
  const events = new EventLog(session.clock.now());
  const [deltas, lanes] = [new CounterDeltas(), new Lanes()];
  const type = to === "held" ? "item_held" : "item_released";
  const data: JsonObject = compact({ author: by.author, reason: by.reason });
  const refused: HoldReport["refused"][number][] = [];
  for (const itemId of itemIds) {
    const row = session.get<{ ref: number; lane: string | null }>(
      "UPDATE items SET state = ?, waits = 0 WHERE queue = ? AND item_id = ? AND state = ? RETURNING ref, lane",
      ...[to, no, itemId, from],
    );
    if (row === undefined) {
      refused.push({ itemId, state: stateOf(session, no, itemId) });
      continue;
    }
    deltas.move(no, from, to);
    lanes.moved(no, row.lane);
    events.add({ type, data }, { queue: no, ref: row.ref });
  }
  lanes.write(session);
  deltas.write(session);
  writeEvents(session, events);
  if (to === "ready" && refused.length < itemIds.length) session.notify(no);
  return { moved: itemIds.length - refused.length, refused };
}

function stateOf(session: Session, queue: number, itemId: string): ItemState | null {
  const sql = "SELECT state FROM items WHERE queue = ? AND item_id = ?";
  return session.get<{ state: ItemState }>(sql, queue, itemId)?.state ?? null;
}
