/**
 * Ordering keys ("lanes") in SQLite. At most one ready item of a key can be leased, the oldest one, and none while another
 * item of the key is leased or an older one is held. `items.waits` is set for the others, so that leasing never reads them.
 */
import type { Session } from "./session.ts";

/** The ordering keys whose items changed during a step; `write` updates them at its end. */
export class Lanes {
  readonly #moved = new Map<string, { readonly queue: number; readonly lane: string }>();

  moved(queue: number, lane: string | null): void {
    if (lane !== null) this.#moved.set(`${queue}/${lane}`, { queue, lane });
  }

  write(session: Session): void {
    for (const { queue, lane } of this.#moved.values()) putInOrder(session, queue, lane);
    this.#moved.clear();
  }
}

/** Updates the ordering keys of items whose states have changed. */
export function putLanesInOrder(session: Session, refs: readonly number[]): void {
  const rows = session.all<{ queue: number; lane: string }>(
    `SELECT DISTINCT i.queue, i.lane FROM json_each(?) refs CROSS JOIN items i ON i.ref = refs.value WHERE i.lane IS NOT NULL`,
    JSON.stringify(refs),
  );
  for (const { queue, lane } of rows) putInOrder(session, queue, lane);
}

const IN_THE_WAY = ["ready", "leased", "held"] as const;

/** Whether a new item of the ordering key must wait. */
export function isOccupied(session: Session, queue: number, lane: string): boolean {
  return IN_THE_WAY.some((state) => oldest(session, queue, lane, state) !== null);
}

function putInOrder(session: Session, queue: number, lane: string): void {
  const first = firstInLine(session, queue, lane);
  session.run(
    `UPDATE items SET waits = 1 WHERE queue = ? AND lane = ? AND state = 'ready' AND waits = 0 AND ref <> ?`,
    queue,
    lane,
    first,
  );
  if (first !== NOBODY) session.run("UPDATE items SET waits = 0 WHERE ref = ? AND waits = 1", first);
}

const NOBODY = 0;

/** The item that can be leased next: the oldest one, if it is ready and no item of the key is leased. */
function firstInLine(session: Session, queue: number, lane: string): number {
  if (oldest(session, queue, lane, "leased") !== null) return NOBODY;
  const ready = oldest(session, queue, lane, "ready");
  if (ready === null) return NOBODY;
  return (oldest(session, queue, lane, "held") ?? ready) < ready ? NOBODY : ready;
}

/** Uses one seek per value of `waits`, which is always 0 unless the item is ready. */
function oldest(
  session: Session,
  queue: number,
  lane: string,
  state: "ready" | "leased" | "held",
): number | null {
  const first = (waits: 0 | 1) => `(SELECT min(ref) FROM items INDEXED BY items_in_lane
    WHERE queue = ?1 AND lane = ?2 AND state = ?3 AND waits = ${waits})`;
  const sql = `SELECT ${first(0)} AS one, ${state === "ready" ? first(1) : "NULL"} AS other`;
  const row = session.get<{ one: number | null; other: number | null }>(sql, queue, lane, state);
  if (row?.one == null || row.other === null) return row?.one ?? row?.other ?? null;
  return Math.min(row.one, row.other);
}
