/**
 * Intake: adds items to a queue, each id once. Existing items are kept and never overwritten; on request, waiting
 * ones get new data as a new revision.
 */
import type { AddOptions, AddReport } from "../../../src/engine.ts";
import { settingsChanged } from "../../../src/errors.ts";
import type { NewItem } from "../../../src/item/item.ts";
import { assert } from "../../../src/std/assert.ts";
import { canonicalJson } from "../../../src/std/json.ts";
import { record } from "./events.ts";
import { hasSpec } from "./jobs.ts";
import { enterLine, leaveLine } from "./line.ts";
import { frozenCopy, type Queue, type Row, requireQueue, type Store } from "./store.ts";

/** The report names no more ids than this. */
const CHANGED_IDS_MAX = 10;

/** An id that occurs twice in one batch is treated as an existing one. */
export function add(
  store: Store,
  queueName: string,
  items: readonly NewItem[],
  { replace, spec }: AddOptions = {},
): AddReport {
  const queue = requireQueue(store, queueName);
  if (spec !== undefined && !hasSpec(store, queueName, spec)) throw settingsChanged(queueName);
  assert(!items.some(({ itemId }) => itemId === ""), `an item of "${queueName}" has no id`);
  const changedIds: string[] = [];
  let [added, replaced] = [0, 0];
  for (const item of items) {
    const known = queue.byId.get(item.itemId);
    if (!known) {
      addOne(store, queue, item);
      added += 1;
    } else if (replace && isOther(known, item) && isWaiting(known)) {
      replaceOne(store, known, item, replace.author);
      replaced += 1;
    } else if (!isSame(known, item) && (!replace || isOther(known, item))) changedIds.push(item.itemId);
  }
  return {
    added,
    existing: items.length - added - replaced - changedIds.length,
    changed: changedIds.length,
    changedIds: changedIds.slice(0, CHANGED_IDS_MAX),
    replaced,
  };
}

function isWaiting({ state }: Row): boolean {
  return state === "ready" || state === "held";
}

/** Other data than the current one. */
function isOther(known: Row, item: NewItem): boolean {
  return !known.purged && canonicalJson(known.data) !== canonicalJson(item.data);
}

/** The old data is kept as an amendment. The item's other fields are replaced. */
function replaceOne(store: Store, row: Row, item: NewItem, author: string): void {
  const { line, name: queue } = row.queue;
  if (row.state === "ready") leaveLine(line, row);
  row.revision += 1;
  row.amendments.push(frozenCopy({ revision: row.revision, at: store.now, author, before: row.data }));
  row.data = frozenCopy(item.data);
  row.name = item.name;
  row.priority = item.priority ?? "normal";
  row.dueAt = item.dueAt ?? store.now;
  row.expiresAt = item.expiresAt;
  if (row.state === "ready") enterLine(line, row);
  const data = { revision: row.revision, author };
  record(store, { type: "item_replaced", queue, itemId: row.itemId, data });
}

/** Compares the original data, not later edits. The data of a purged item is unknown. */
function isSame(known: Row, item: NewItem): boolean {
  const [first] = known.amendments;
  const original = first ? first.before : known.data;
  return known.purged || canonicalJson(original) === canonicalJson(item.data);
}

/** Makes it ready and notifies watchers. */
export function addOne(store: Store, queue: Queue, item: NewItem, origin?: Row): void {
  const row = newRow(store, queue, item, origin);
  queue.counts.ready += 1;
  enterLine(queue.line, row);
  record(store, { type: "item_queued", queue: queue.name, itemId: row.itemId });
}

/** Creates the row of the item with its due time. The caller sets its state. */
export function newRow(store: Store, queue: Queue, item: NewItem, origin?: Row): Row {
  const row: Row = {
    ref: store.rows.length + 1,
    queue,
    itemId: item.itemId,
    data: frozenCopy(item.data),
    name: item.name,
    state: "ready",
    priority: item.priority ?? "normal",
    dueAt: item.dueAt ?? store.now,
    expiresAt: item.expiresAt,
    orderingKey: item.orderingKey,
    origin,
    offspring: [],
    started: 0,
    attempts: [],
    attemptsCounted: 0,
    lostCount: 0,
    revision: 1,
    index: queue.byId.size,
    redriveCount: 0,
    operation: undefined,
    burial: undefined,
    resolution: undefined,
    purged: false,
    lateResults: [],
    amendments: [],
    notes: [],
  };
  store.rows.push(row);
  queue.byId.set(row.itemId, row);
  origin?.offspring.push(row);
  enterLane(row);
  return row;
}

function enterLane(row: Row): void {
  if (row.orderingKey === undefined) return;
  const { orderingKeys } = row.queue;
  orderingKeys.set(row.orderingKey, [...(orderingKeys.get(row.orderingKey) ?? []), row]);
}
