/** Intake: takes items into a queue, each id once. What is there already is kept as it is, never overwritten. */
import type { AddReport } from "../../engine.ts";
import type { NewItem } from "../../item/item.ts";
import { assert } from "../../kit/assert.ts";
import { canonicalJson } from "../../kit/json.ts";
import { record } from "./events.ts";
import { enterLine } from "./line.ts";
import { frozenCopy, type Queue, type Row, requireQueue, type Store } from "./store.ts";

/** The report names no more ids than this. */
const CHANGED_IDS_MAX = 10;

/** An id that comes twice in one batch is treated as one that was there before. */
export function add(store: Store, queueName: string, items: readonly NewItem[]): AddReport {
  const queue = requireQueue(store, queueName);
  assert(!items.some(({ itemId }) => itemId === ""), `an item of "${queueName}" has no id`);
  const changedIds: string[] = [];
  let added = 0;
  for (const item of items) {
    const known = queue.byId.get(item.itemId);
    if (!known) {
      addOne(store, queue, item);
      added += 1;
    } else if (!isSame(known, item)) changedIds.push(item.itemId);
  }
  return {
    added,
    existing: items.length - added - changedIds.length,
    changed: changedIds.length,
    changedIds: changedIds.slice(0, CHANGED_IDS_MAX),
  };
}

/** What it came in with counts, not what was made of it here. Of a purged item nobody knows it any more. */
function isSame(known: Row, item: NewItem): boolean {
  const [first] = known.amendments;
  const original = first ? first.before : known.data;
  return known.purged || canonicalJson(original) === canonicalJson(item.data);
}

function addOne(store: Store, queue: Queue, item: NewItem): void {
  const row = newRow(store, queue, item);
  queue.counts.ready += 1;
  enterLine(queue.line, row);
  record(store, { type: "item_queued", queue: queue.name, itemId: row.itemId });
}

/** Gives the item its row, due now. The caller puts it into its state. */
export function newRow(store: Store, queue: Queue, item: NewItem): Row {
  const row: Row = {
    ref: store.rows.length + 1,
    queue,
    itemId: item.itemId,
    data: frozenCopy(item.data),
    state: "ready",
    dueAt: store.now,
    started: 0,
    attempts: [],
    spent: 0,
    losses: 0,
    revision: 1,
    index: queue.byId.size,
    redriveCount: 0,
    operation: undefined,
    burial: undefined,
    resolution: undefined,
    purged: false,
    evidence: [],
    amendments: [],
    notes: [],
  };
  store.rows.push(row);
  queue.byId.set(row.itemId, row);
  return row;
}
