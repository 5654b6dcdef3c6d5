/** Handles items whose ids exist: compares them with the stored ones and replaces those where the caller asks for it. */
import type { NewItem } from "../../item/item.ts";
import { rankOf } from "../../item/item.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { canonicalJson, type Json, parseJson } from "../../std/json.ts";
import { amendAll } from "../sql/amendments.ts";
import { runOn } from "./db.ts";
import { writeEvent } from "./events.ts";
import { joinLine, takeFromLine } from "./ready-items.ts";
import type { Tx } from "./session.ts";

type Fate = "existing" | "changed" | "replaced";

interface Known {
  readonly ref: number;
  readonly item_id: string;
  readonly state: ItemState;
  readonly purged: number;
  /** The current data, and the data that the item was added with. */
  readonly data: string | null;
  readonly first: string | null;
}

/** Returns the outcome for each item, in order. */
export async function meetAgain(
  tx: Tx,
  queue: number,
  items: readonly NewItem[],
  replacer: string | undefined,
): Promise<Fate[]> {
  if (items.length === 0) return [];
  const known = await findKnown(
    tx,
    queue,
    items.map(({ itemId }) => itemId),
  );
  const fates: Fate[] = [];
  for (const item of items) {
    const row = known.get(item.itemId);
    assert(row, `item ${item.itemId} is neither new nor there`);
    fates.push(replacer === undefined ? compare(row, item) : await replace(tx, queue, item, replacer));
  }
  return fates;
}

async function findKnown(
  tx: Tx,
  queue: number,
  itemIds: readonly string[],
): Promise<ReadonlyMap<string, Known>> {
  const rows = await tx.all<Known>(
    `SELECT i.ref, i.item_id, i.state, i.purged, p.data, a.before AS first
       FROM items i LEFT JOIN payloads p ON p.ref = i.ref LEFT JOIN amendments a ON a.ref = i.ref AND a.revision = 2
      WHERE i.queue = ? AND i.item_id = ANY (?::text[])`,
    queue,
    itemIds,
  );
  return new Map(rows.map((row) => [row.item_id, row]));
}

/** Compares with the data that the item was added with, not with later edits. The data of a purged item is not known. */
function compare({ purged, data, first }: Known, item: NewItem): Fate {
  if (purged === 1) return "existing";
  return textOf(first ?? data) === canonicalJson(item.data) ? "existing" : "changed";
}

/** Removes the row of `ready_items` before it locks the item, in the same order as leasing, to avoid deadlocks. */
async function replace(tx: Tx, queue: number, item: NewItem, author: string): Promise<Fate> {
  const seen = await requireKnown(tx, queue, item.itemId);
  if (!isReplaceable(seen, item)) return fateOf(seen, item);
  await takeFromLine(tx, [seen.ref]);
  await tx.run("SELECT 1 FROM items WHERE ref = ? FOR UPDATE", seen.ref);
  const known = await requireKnown(tx, queue, item.itemId);
  const isReplaced = isReplaceable(known, item);
  if (isReplaced) await rewrite(tx, { known, item, author, queue });
  if (known.state === "ready") await joinLine(tx, [known.ref]);
  return isReplaced ? "replaced" : fateOf(known, item);
}

function isReplaceable({ purged, state, data }: Known, item: NewItem): boolean {
  const waits = state === "ready" || state === "held";
  return waits && purged === 0 && textOf(data) !== canonicalJson(item.data);
}

/** The outcome for an item that is not replaced also depends on its current state. */
function fateOf(known: Known, item: NewItem): Fate {
  return textOf(known.data) === canonicalJson(item.data) ? "existing" : compare(known, item);
}

async function requireKnown(tx: Tx, queue: number, itemId: string): Promise<Known> {
  const known = (await findKnown(tx, queue, [itemId])).get(itemId);
  assert(known, `item ${itemId} is neither new nor there`);
  return known;
}

interface Rewriting {
  readonly known: Known;
  readonly item: NewItem;
  readonly author: string;
  readonly queue: number;
}

/** Keeps the old data as an amendment. Everything else is replaced by what the new item has; the ordering key stays. */
async function rewrite(tx: Tx, { known: { ref }, item, author, queue }: Rewriting): Promise<void> {
  const letter = await tx.get<{ no: number }>("SELECT no FROM letters WHERE ref = ?", ref);
  const change = { ref, letter: letter?.no ?? null, data: item.data, at: tx.now, author };
  const [amendment] = await runOn(tx, (db) => amendAll(db, [change]));
  assert(amendment, `item ${item.itemId} is replaced by what it is`);
  await tx.run("UPDATE payloads SET name = ? WHERE ref = ?", item.name ?? null, ref);
  await tx.run(
    "UPDATE items SET priority = ?, due_at = ?, expires_at = ? WHERE ref = ?",
    ...[rankOf(item.priority ?? "normal"), item.dueAt ?? tx.now, item.expiresAt ?? null, ref],
  );
  const data = { revision: amendment.revision, author };
  await writeEvent(tx, tx.now, { type: "item_replaced", data }, { queue, ref });
}

function textOf(data: string | null): string {
  return canonicalJson(parseJson(data ?? "null") as Json);
}
