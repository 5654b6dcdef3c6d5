/**
 * Ordering keys ("ordered_items") in SQLite. At most one ready item per key can be leased: the oldest one,
 * unless another item with the key is leased or an older one is held. `items.waits` is set for the others, so
 * that leasing never reads them.
 */
import type { Session } from "./session.ts";

/** The ordering keys whose items changed during a step; `write` updates them at its end. */
export class OrderingKeys {
  readonly #moved = new Map<string, { readonly queue: number; readonly ordering_key: string }>();

  moved(queue: number, ordering_key: string | null): void {
    if (ordering_key !== null) this.#moved.set(`${queue}/${ordering_key}`, { queue, ordering_key });
  }

  write(session: Session): void {
    for (const { queue, ordering_key } of this.#moved.values()) putInOrder(session, queue, ordering_key);
    this.#moved.clear();
  }
}

/** Updates the ordering keys of items whose states have changed. */
export function alignOrderingKeys(session: Session, refs: readonly number[]): void {
  const rows = session.all<{ queue: number; ordering_key: string }>(
    `SELECT DISTINCT i.queue, i.ordering_key FROM json_each(?) refs CROSS JOIN items i ON i.ref = refs.value WHERE i.ordering_key IS NOT NULL`,
    JSON.stringify(refs),
  );
  for (const { queue, ordering_key } of rows) putInOrder(session, queue, ordering_key);
}

const IN_THE_WAY = ["ready", "leased", "held"] as const;

/** Whether a new item of the ordering key must wait. */
export function isOccupied(session: Session, queue: number, ordering_key: string): boolean {
  return IN_THE_WAY.some((state) => oldest(session, queue, ordering_key, state) !== null);
}

function putInOrder(session: Session, queue: number, ordering_key: string): void {
  const first = firstInLine(session, queue, ordering_key);
  session.run(
    `UPDATE items SET waits = 1 WHERE queue = ? AND ordering_key = ? AND state = 'ready' AND waits = 0 AND ref <> ?`,
    queue,
    ordering_key,
    first,
  );
  if (first !== NOBODY) session.run("UPDATE items SET waits = 0 WHERE ref = ? AND waits = 1", first);
}

const NOBODY = 0;

/**
 * Returns the item that can be leased next: the oldest one, if it is ready and no item with the key is
 * leased.
 */
function firstInLine(session: Session, queue: number, ordering_key: string): number {
  if (oldest(session, queue, ordering_key, "leased") !== null) return NOBODY;
  const ready = oldest(session, queue, ordering_key, "ready");
  if (ready === null) return NOBODY;
  return (oldest(session, queue, ordering_key, "held") ?? ready) < ready ? NOBODY : ready;
}

/** Uses one seek per value of `waits`, which is always 0 unless the item is ready. */
function oldest(
  session: Session,
  queue: number,
  ordering_key: string,
  state: "ready" | "leased" | "held",
): number | null {
  const first = (waits: 0 | 1) => `(SELECT min(ref) FROM items INDEXED BY items_by_ordering_key
    WHERE queue = ?1 AND ordering_key = ?2 AND state = ?3 AND waits = ${waits})`;
  const sql = `SELECT ${first(0)} AS one, ${state === "ready" ? first(1) : "NULL"} AS other`;
  const row = session.get<{ one: number | null; other: number | null }>(sql, queue, ordering_key, state);
  if (row?.one == null || row.other === null) return row?.one ?? row?.other ?? null;
  return Math.min(row.one, row.other);
}
