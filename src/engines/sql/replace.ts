/**
 * Handles items whose ids already exist: compares them with the stored ones and replaces those that the
 * caller wants to replace.
 */
import type { AddReport } from "../../engine.ts";
import type { NewItem } from "../../item/item.ts";
import { rankOf } from "../../item/item.ts";
import { optionsText } from "../../item/item-options.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { canonicalJson, compact, type Json, parseJson } from "../../std/json.ts";
import { amendAll } from "./amendments.ts";
import type { Db, Step } from "./db.ts";
import type { EventLog } from "./events.ts";

/** The queue that items are added to, and the events of the transaction. */
interface Intake {
  readonly db: Db;
  readonly queue: number;
  readonly events: EventLog;
}

export type AddOutcome = "existing" | "changed" | "replaced";

const CHANGED_IDS_MAX = 10;

/** Counts the outcomes of the items of one call. */
export class AddTotals {
  added = 0;
  replaced = 0;
  readonly #changedIds: string[] = [];
  readonly #existingIds: string[] | undefined;

  constructor({ listsExisting = false }: { readonly listsExisting?: boolean | undefined } = {}) {
    this.#existingIds = listsExisting ? [] : undefined;
  }

  /** Counts the outcomes of items whose ids exist. */
  met(items: readonly NewItem[], outcomes: readonly AddOutcome[]): void {
    this.#existingIds?.push(...items.map(({ itemId }) => itemId));
    this.replaced += outcomes.filter((outcome) => outcome === "replaced").length;
    this.#changedIds.push(...items.flatMap(({ itemId }, at) => (outcomes[at] === "changed" ? [itemId] : [])));
  }

  report(count: number): AddReport {
    const { added, replaced } = this;
    const changed = this.#changedIds.length;
    const changedIds = this.#changedIds.slice(0, CHANGED_IDS_MAX);
    const existing = count - added - replaced - changed;
    return { added, existing, changed, changedIds, replaced, ...compact({ existingIds: this.#existingIds }) };
  }
}

interface Known {
  readonly ref: number;
  readonly item_id: string;
  readonly state: ItemState;
  readonly purged: number;
  /** The current data, and the original data of the item. */
  readonly data: string | null;
  readonly first: string | null;
}

/** Returns the outcome for each item, in order. */
export function* meetAgain(
  intake: Intake,
  items: readonly NewItem[],
  replacer: string | undefined,
): Step<AddOutcome[]> {
  if (items.length === 0) return [];
  const known = yield* findKnown(
    intake,
    items.map(({ itemId }) => itemId),
  );
  const outcomes: AddOutcome[] = [];
  for (const item of items) {
    const row = known.get(item.itemId);
    assert(row, `item ${item.itemId} is neither new nor there`);
    outcomes.push(replacer === undefined ? compare(row, item) : yield* replace(intake, item, replacer));
  }
  return outcomes;
}

function* findKnown({ db, queue }: Intake, itemIds: readonly string[]): Step<ReadonlyMap<string, Known>> {
  const rows = yield* db.all<Known>(
    `SELECT i.ref, i.item_id, i.state, i.purged, p.data, a.before AS first
       FROM items i LEFT JOIN payloads p ON p.ref = i.ref LEFT JOIN amendments a ON a.ref = i.ref AND a.revision = 2
      WHERE i.queue = ? AND ${db.sql.among("i.item_id", "?", "text")}`,
    queue,
    itemIds,
  );
  return new Map(rows.map((row) => [row.item_id, row]));
}

/**
 * Compares with the original data of the item, not with later edits. Purged items have no data to compare.
 */
function compare({ purged, data, first }: Known, item: NewItem): AddOutcome {
  if (purged === 1) return "existing";
  return textOf(first ?? data) === canonicalJson(item.data) ? "existing" : "changed";
}

/** Removes the row of `ready_items` before it locks the item, in the same order as leasing, to avoid deadlocks. */
function* replace(intake: Intake, item: NewItem, author: string): Step<AddOutcome> {
  const { db } = intake;
  const seen = yield* requireKnown(intake, item.itemId);
  if (!isReplaceable(seen, item)) return outcomeOf(seen, item);
  yield* db.withdraw([seen.ref]);
  yield* db.get(`SELECT 1 FROM items WHERE ref = ? ${db.sql.forUpdate}`, seen.ref);
  const known = yield* requireKnown(intake, item.itemId);
  const isReplaced = isReplaceable(known, item);
  if (isReplaced) yield* rewrite(intake, known.ref, item, author);
  if (known.state === "ready") yield* db.offer([known.ref]);
  return isReplaced ? "replaced" : outcomeOf(known, item);
}

function isReplaceable({ purged, state, data }: Known, item: NewItem): boolean {
  const waits = state === "ready" || state === "held";
  return waits && purged === 0 && textOf(data) !== canonicalJson(item.data);
}

/** The outcome for an item that is not replaced: `existing` if it has the current or the original data. */
function outcomeOf(known: Known, item: NewItem): AddOutcome {
  return textOf(known.data) === canonicalJson(item.data) ? "existing" : compare(known, item);
}

function* requireKnown(intake: Intake, itemId: string): Step<Known> {
  const known = (yield* findKnown(intake, [itemId])).get(itemId);
  assert(known, `item ${itemId} is neither new nor there`);
  return known;
}

/** Keeps the old data as an amendment. The new item replaces everything else except the ordering key. */
function* rewrite({ db, queue, events }: Intake, ref: number, item: NewItem, author: string): Step<void> {
  const letter = yield* db.get<{ no: number }>("SELECT no FROM letters WHERE ref = ?", ref);
  const change = { ref, letter: letter?.no ?? null, data: item.data, at: db.now, author };
  const [amendment] = yield* amendAll(db, [change]);
  assert(amendment, `item ${item.itemId} is replaced by what it is`);
  yield* db.run(
    "UPDATE payloads SET name = ?, options = ? WHERE ref = ?",
    ...[item.name ?? null, optionsText(item) ?? null, ref],
  );
  yield* db.run(
    "UPDATE items SET priority = ?, due_at = ?, expires_at = ? WHERE ref = ?",
    ...[rankOf(item.priority ?? "normal"), item.dueAt ?? db.now, item.expiresAt ?? null, ref],
  );
  const data = { revision: amendment.revision, author };
  events.add({ type: "item_replaced", data }, { queue, ref });
}

function textOf(data: string | null): string {
  return canonicalJson(parseJson(data ?? "null") as Json);
}
