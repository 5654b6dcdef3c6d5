/**
 * Adds items to a named queue according to its settings. Each item gets a result; a refused item does not
 * affect the others.
 */
import { createHash } from "node:crypto";
import type { Engine, EngineWithin, TransactionConnection } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { idProblem } from "../intake/identity.ts";
import { KEY_BYTES, SeenTable } from "../intake/seen-table.ts";
import type { Item, NewItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { canonicalJson, compact, type Json } from "../std/json.ts";
import { nameSeries } from "../std/random.ts";
import { requireQueue } from "./find-job.ts";
import { type QueueSpec, queueSpecOf } from "./queue-spec.ts";

/** An item to add. The defaults of `priority` and `expiresAt` come from the queue's settings. */
export interface QueueItem extends Omit<NewItem, "itemId"> {
  /** The unique key of the item in the queue. Default: a generated one. */
  readonly key?: string;
}

/** The result of adding one item. */
export interface AddedItem {
  /** `existing`: the queue already has an item with this key and keeps it. */
  readonly outcome: "added" | "existing" | "replaced" | "refused";
  /** The id of the item. For a refused item, the key that the caller gave, if any. */
  readonly itemId?: string;
  /** Why the item was refused. `because` is the machine-readable reason. */
  readonly reason?: string;
  readonly because?: "key_taken" | "invalid";
}

/** The options for adding items. */
export interface AddItemsOptions {
  /** Recorded as the author when an item replaces the data of another. Default `redrive`. */
  readonly author?: string;
  /**
   * The caller's own connection with an open transaction, in which the items are added. Default: the items
   * are added in a separate transaction and durable when the call returns.
   */
  readonly transaction?: TransactionConnection;
}

/** Adds the items and returns their results in the same order. */
export async function addItems(
  engine: Engine,
  queue: string,
  items: readonly QueueItem[],
  options: AddItemsOptions = {},
): Promise<readonly AddedItem[]> {
  return (await openQueueIntake(engine, await requireQueue(engine, queue))).add(items, options);
}

/**
 * Records items that a person adds. Programs leave only the events of the items, because another write would
 * double the cost.
 */
export async function recordAdded(
  engine: Engine,
  queue: string,
  results: readonly AddedItem[],
): Promise<void> {
  const added = results.filter(({ outcome }) => outcome === "added");
  if (added.length === 0) return;
  const item = added.length === 1 ? { item_id: added[0]?.itemId } : {};
  const details = { added: added.length };
  await engine.recordChange(compact({ action: "items_added", queue, ...item, details }));
}

/** Opens a queue for callers that add many items. Changes to the queue's settings take effect while it is open. */
export async function openQueueIntake(engine: Engine, job: Job): Promise<QueueIntake> {
  return new QueueIntake(engine, await rulesOf(job));
}

/** `check` returns the reason why the data does not match the schema, or undefined when it does. */
type Rules = {
  readonly job: Job;
  readonly spec: QueueSpec;
  readonly check: (data: Json) => string | undefined;
};

async function rulesOf(job: Job): Promise<Rules> {
  const spec = queueSpecOf(job);
  if (spec.schema === undefined) return { job, spec, check: () => undefined };
  const { compileSchema } = await import("../redrive/data-schema.ts");
  return { job, spec, check: compileSchema(spec.schema) };
}

/** Keeps transactions short, so that other writers are not blocked for long. */
const BATCH_MAX = 10_000;

/** An item to add, its position among the results, and the stored item with the same key. */
type Entry = { position: number; item: NewItem; stored: Pick<Item, "state" | "data"> | null };

interface AddedBy {
  readonly author: string;
  /** The engine, or the part of it that works inside the caller's transaction. */
  readonly store: EngineWithin;
}

/** Items that were passed to the store, and how many it added as new. */
interface Addition {
  readonly going: readonly Entry[];
  readonly answers: (AddedItem | undefined)[];
  readonly added: number;
  readonly store: EngineWithin;
}

/** After this many tries, items are added even if the settings changed again. */
const TRIES_MAX = 3;

export class QueueIntake {
  readonly #engine: Engine;
  readonly #queue: string;
  #rules: Rules;
  readonly #nextName = nameSeries();
  /** Digests of the keys that a preview has accepted, so that a second item with the same key counts as a duplicate. */
  readonly #previewed = new SeenTable();

  constructor(engine: Engine, rules: Rules) {
    this.#engine = engine;
    this.#queue = rules.job.id;
    this.#rules = rules;
  }

  /** Splits the items into batches without repeated keys, so that the second item with a key finds the first. */
  async add(items: readonly QueueItem[], { author = "redrive", transaction }: AddItemsOptions = {}) {
    const by = { author, store: transaction === undefined ? this.#engine : this.#engine.within(transaction) };
    const answers: AddedItem[] = [];
    for (const run of runsOf(items)) answers.push(...(await this.#addRun(run, by)));
    return answers;
  }

  async preview(items: readonly QueueItem[]): Promise<readonly AddedItem[]> {
    const answers: AddedItem[] = [];
    for (const run of runsOf(items)) {
      const { answers: refused, entries } = await this.#look(run, this.#engine, false);
      for (const entry of entries) refused[entry.position] = this.#foreseen(this.#afterPreviewed(entry));
      answers.push(...refused.filter((one) => one !== undefined));
    }
    return answers;
  }

  #afterPreviewed(entry: Entry): Entry {
    const { itemId, data } = entry.item;
    if (entry.stored !== null || this.#previewed.count(digestOf(itemId)) === 1) return entry;
    return { ...entry, stored: { state: "ready", data: [data] } }; // assumes that the data differs
  }

  /** The store adds nothing if the settings have changed. The batch is then repeated with the new settings. */
  async #addRun(items: readonly QueueItem[], by: AddedBy): Promise<readonly AddedItem[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        const answers = await this.#tryRun(items, { ...by, isLast: tries === TRIES_MAX });
        if (answers !== "outdated") return answers;
      } catch (error) {
        if (!(error instanceof RedriveError) || error.code !== "job_changed") throw error;
        await this.#readRules();
      }
    }
  }

  async #tryRun(items: readonly QueueItem[], { author, store, isLast }: AddedBy & { isLast: boolean }) {
    const { job, spec } = this.#rules;
    // A single item is added without a lookup first, because the number of added items shows its result.
    const isAlone = items.length === 1 && spec.unique !== "replace";
    const { answers, entries } = await this.#look(items, store, isAlone);
    const going: Entry[] = [];
    const batch: NewItem[] = [];
    let wanted = 0;
    for (const entry of entries) {
      const foreseen = this.#foreseen(entry);
      answers[entry.position] = foreseen;
      if (foreseen.outcome !== "added" && foreseen.outcome !== "replaced") continue;
      going.push(entry);
      batch.push(entry.item);
      if (entry.stored === null) wanted += 1;
    }
    // The store checks the settings only for items that it receives, so they are checked here if some items
    // are left out.
    if (going.length < items.length && !isLast && (await this.#readRules())) return "outdated" as const;
    if (going.length > 0) {
      const { added, replaced } = await store.add(this.#queue, batch, {
        ...(spec.unique === "replace" && { replace: { author } }),
        expectNew: wanted === going.length,
        generatedIds: items.every(({ key }) => key === undefined),
        ...(!isLast && { spec: job.spec }),
      });
      if (added !== wanted || replaced !== going.length - wanted)
        await this.#lookAgain({ going, answers, added, store });
    }
    return answers.filter((one) => one !== undefined);
  }

  async #readRules(): Promise<boolean> {
    const job = await requireQueue(this.#engine, this.#queue);
    if (JSON.stringify(job.spec) === JSON.stringify(this.#rules.job.spec)) return false;
    this.#rules = await rulesOf(job);
    return true;
  }

  /** Refuses invalid items, and looks up the stored items with the keys of the others. */
  async #look(items: readonly QueueItem[], store: EngineWithin, expectsNew: boolean) {
    const { spec } = this.#rules;
    const answers: (AddedItem | undefined)[] = new Array(items.length).fill(undefined);
    const entries: Entry[] = [];
    const keys: string[] = [];
    let needsTime = spec.expiresAfterMs !== undefined;
    for (const { key, expiresAt } of items) {
      if (key !== undefined && !idProblem(key)) keys.push(key);
      if (expiresAt !== undefined) needsTime = true;
    }
    const storedOf = await this.#find(expectsNew ? [] : keys, store);
    const now = needsTime ? await store.now() : 0;
    let position = 0;
    for (const given of items) {
      const reason = this.#problemOf(given, now);
      if (reason === undefined) {
        const stored = given.key === undefined ? null : (storedOf.get(given.key) ?? null);
        entries.push({ position, item: this.#newItem(given, now), stored });
      } else
        answers[position] = compact({ outcome: "refused", itemId: given.key, reason, because: "invalid" });
      position += 1;
    }
    return { answers, entries };
  }

  #problemOf({ data, key, dueAt, expiresAt }: QueueItem, now: number): string | undefined {
    const wrong = key === undefined ? undefined : idProblem(key);
    if (wrong !== undefined) return `its key ${wrong}`;
    const late = timeProblem(dueAt, expiresAt, now);
    if (late !== undefined) return late;
    const problem = this.#rules.check(data);
    return problem === undefined ? undefined : `does not match the schema: ${problem}`;
  }

  /** The queue's default expiry is measured from the due time of the item. */
  #newItem(item: QueueItem, now: number): NewItem {
    const { key, data, name, priority, dueAt, expiresAt, orderingKey, retries, backoff, context } = item;
    const { spec } = this.#rules;
    const afterMs = spec.expiresAfterMs;
    const limit = afterMs === undefined ? undefined : Math.max(now, dueAt ?? now) + afterMs;
    const usual = { itemId: key ?? this.#nextName(), data, priority: priority ?? spec.priority };
    const end = expiresAt ?? limit;
    const own = retries ?? backoff ?? context;
    if ((name ?? dueAt ?? end ?? orderingKey ?? own) === undefined) return usual; // avoids a copy in the common case
    return { ...usual, ...compact({ name, dueAt, expiresAt: end, orderingKey, retries, backoff, context }) };
  }

  /** Finds the stored items in one query, because the database may be remote. */
  async #find(itemIds: readonly string[], store: EngineWithin): Promise<ReadonlyMap<string, Item>> {
    if (itemIds.length === 0) return new Map();
    const found = await store.listItems({ queue: this.#queue, itemIds, limit: itemIds.length });
    return new Map(found.map((item) => [item.itemId, item]));
  }

  #foreseen({ item, stored }: Entry): AddedItem {
    const { itemId } = item;
    if (stored === null) return { outcome: "added", itemId };
    const { unique } = this.#rules.spec;
    if (unique === "return") return { outcome: "existing", itemId };
    if (unique === "reject")
      return taken(itemId, `its key is already used by an item that is ${stored.state}`);
    if (isSame(item, stored)) return { outcome: "existing", itemId };
    if (stored.state === "ready" || stored.state === "held") return { outcome: "replaced", itemId };
    return taken(
      itemId,
      `only a waiting item can be replaced, and the item with this key is ${stored.state}`,
    );
  }

  /**
   * Corrects the predicted results after another process added or removed some of the items. If it added the
   * same key with the same data, the item counts as added by this call, because the two cannot be
   * distinguished.
   */
  async #lookAgain({ going, answers, added, store }: Addition): Promise<void> {
    let left = added;
    const storedOf = await this.#find(
      going.map(({ item }) => item.itemId),
      store,
    );
    for (const entry of going) {
      const { position, item } = entry;
      const now = storedOf.get(item.itemId) ?? null;
      const isOurs = now !== null && isSame(item, now);
      if (entry.stored !== null) {
        if (!isOurs) answers[position] = this.#foreseen({ ...entry, stored: now });
      } else if (isOurs && left > 0) left -= 1;
      else answers[position] = this.#foreseen({ ...entry, stored: now });
    }
  }
}

function taken(itemId: string, reason: string): AddedItem {
  return { outcome: "refused", itemId, reason, because: "key_taken" };
}

function timeProblem(dueAt: number | undefined, expiresAt: number | undefined, now: number) {
  if (!isTime(dueAt) || !isTime(expiresAt)) return "its due time or its expiry is invalid";
  if (expiresAt === undefined) return undefined;
  if (expiresAt <= now) return "it has already expired";
  return dueAt !== undefined && expiresAt <= dueAt ? "it expires before it is due" : undefined;
}

function isTime(ms: number | undefined): boolean {
  return ms === undefined || Number.isSafeInteger(Math.round(ms));
}

function digestOf(key: string): Uint8Array {
  return createHash("sha256").update(key).digest().subarray(0, KEY_BYTES);
}

function isSame({ data }: NewItem, stored: Pick<Item, "data">): boolean {
  return canonicalJson(data) === canonicalJson(stored.data);
}

function* runsOf(items: readonly QueueItem[]): Generator<readonly QueueItem[]> {
  let run: QueueItem[] = [];
  let keys = new Set<string>();
  for (const item of items) {
    const isAgain = item.key !== undefined && keys.has(item.key);
    if (isAgain || run.length === BATCH_MAX) {
      yield run;
      [run, keys] = [[], new Set()];
    }
    run.push(item);
    if (item.key !== undefined) keys.add(item.key);
  }
  if (run.length > 0) yield run;
}
