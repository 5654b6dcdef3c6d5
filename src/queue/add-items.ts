/**
 * Adds items to a named queue by its settings: schema, default priority and expiry, and the rule for duplicate keys. Returns
 * a result for every item; a refused item does not affect the others.
 */
import { createHash } from "node:crypto";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { idProblem } from "../intake/identity.ts";
import { KEY_BYTES, SeenTable } from "../intake/seen-table.ts";
import type { Item, NewItem, Priority } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { canonicalJson, compact, type Json } from "../std/json.ts";
import { nameSeries } from "../std/random.ts";
import { requireQueue } from "./find-job.ts";
import { type QueueSpec, queueSpecOf } from "./queue-spec.ts";

/** An item as the caller gives it. */
export interface QueueItem {
  readonly data: Json;
  /** The unique key of the item in the queue. Default: a random name. */
  readonly key?: string;
  /** A name for people. */
  readonly name?: string;
  /** Default: the queue's own. */
  readonly priority?: Priority;
  /** Not before this time, in milliseconds since the epoch. Default: now. */
  readonly dueAt?: number;
  /** Not from this time on. Default: as the queue says. */
  readonly expiresAt?: number;
  /** Items of one lane are worked one at a time, oldest first. Default: no lane. */
  readonly lane?: string;
}

/** The result for one item. */
export interface AddedItem {
  /** `existing`: the queue already has the key and keeps its item. */
  readonly outcome: "added" | "existing" | "replaced" | "refused";
  /** Its id in the queue; of a refused one the key that it came with, if any. */
  readonly itemId?: string;
  /** Why it was refused, and whether that is about its key or about what was given. */
  readonly reason?: string;
  readonly because?: "key_taken" | "invalid";
}

/** The author of the items. */
export interface AddItemsOptions {
  /** Who brings them: kept with data that they replace. Default `redrive`. */
  readonly author?: string;
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

/** Adds items to one queue, for callers that add many. */
export interface QueueIntake {
  add(items: readonly QueueItem[], options?: AddItemsOptions): Promise<readonly AddedItem[]>;
  /** The results that `add` would return. Writes nothing. */
  preview(items: readonly QueueItem[]): Promise<readonly AddedItem[]>;
}

/** Obeys the settings that the queue has when items come in, though it may be kept for long. */
export async function openQueueIntake(engine: Engine, job: Job): Promise<QueueIntake> {
  const intake = new Intake(engine, await rulesOf(job));
  return {
    add: (items, options) => intake.add(items, options),
    preview: (items) => intake.preview(items),
  };
}

type Check = (data: Json) => string | undefined;

interface Rules {
  readonly job: Job;
  readonly spec: QueueSpec;
  readonly check: Check;
}

async function rulesOf(job: Job): Promise<Rules> {
  const spec = queueSpecOf(job);
  return { job, spec, check: await checkOf(spec) };
}

async function checkOf({ schema }: QueueSpec): Promise<Check> {
  if (schema === undefined) return () => undefined;
  const { compileSchema } = await import("../redrive/data-schema/compile.ts");
  return compileSchema(schema);
}

/** Small enough that other writers get their turn. */
const BATCH_MAX = 10_000;

/** An item on its way in: its place in the answer, what is written, and what the queue has under its key. */
interface Entry {
  readonly place: number;
  readonly item: NewItem;
  readonly stored: Pick<Item, "state" | "data"> | null;
}

/** Settings that are changed more often than that in a moment are obeyed as they were in that moment. */
const TRIES_MAX = 3;

class Intake {
  readonly #engine: Engine;
  readonly #queue: string;
  #rules: Rules;
  readonly #nextName = nameSeries();
  /** Keys that a preview has let through, as digests: the next one of the same name would meet them. */
  readonly #previewed = new SeenTable();

  constructor(engine: Engine, rules: Rules) {
    this.#engine = engine;
    this.#queue = rules.job.id;
    this.#rules = rules;
  }

  /** In runs in which no key is met twice: the second of a name has to find what became of the first. */
  async add(
    items: readonly QueueItem[],
    { author = "redrive" }: AddItemsOptions = {},
  ): Promise<readonly AddedItem[]> {
    const answers: AddedItem[] = [];
    for (const run of runsOf(items)) answers.push(...(await this.#addRun(run, author)));
    return answers;
  }

  async preview(items: readonly QueueItem[]): Promise<readonly AddedItem[]> {
    const answers: AddedItem[] = [];
    for (const run of runsOf(items)) {
      const { answers: refused, entries } = await this.#look(run);
      for (const entry of entries) refused[entry.place] = this.#foreseen(this.#met(entry));
      answers.push(...refused.filter((one) => one !== undefined));
    }
    return answers;
  }

  /** As the store would have it if those before it had gone in. */
  #met(entry: Entry): Entry {
    const { itemId, data } = entry.item;
    if (entry.stored !== null || this.#previewed.count(digestOf(itemId)) === 1) return entry;
    return { ...entry, stored: { state: "ready", data: [data] } }; // other data, as a second of its name most likely has
  }

  /** The store takes nothing in by rules that are not the queue's any more: then it is all done again, by the new ones. */
  async #addRun(items: readonly QueueItem[], author: string): Promise<readonly AddedItem[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        const answers = await this.#tryRun(items, { author, isLast: tries === TRIES_MAX });
        if (answers !== "outdated") return answers;
      } catch (error) {
        if (!(error instanceof WorkError) || error.code !== "job_changed") throw error;
        await this.#readRules();
      }
    }
  }

  async #tryRun(
    items: readonly QueueItem[],
    { author, isLast }: { readonly author: string; readonly isLast: boolean },
  ): Promise<readonly AddedItem[] | "outdated"> {
    const { job, spec } = this.#rules;
    const { answers, entries } = await this.#look(items);
    const going: Entry[] = [];
    const batch: NewItem[] = [];
    let wanted = 0;
    for (const entry of entries) {
      const foreseen = this.#foreseen(entry);
      answers[entry.place] = foreseen;
      if (foreseen.outcome !== "added" && foreseen.outcome !== "replaced") continue;
      going.push(entry);
      batch.push(entry.item);
      if (entry.stored === null) wanted += 1;
    }
    // What is not brought to the store cannot be refused by it: whether these still are the rules has to be asked.
    if (going.length < items.length && !isLast && (await this.#readRules())) return "outdated";
    if (going.length > 0) {
      const { added, replaced } = await this.#engine.add(this.#queue, batch, {
        ...(spec.unique === "replace" && { replace: { author } }),
        areNew: wanted === going.length,
        areMadeUp: items.every(({ key }) => key === undefined),
        ...(!isLast && { spec: job.spec }),
      });
      if (added !== wanted || replaced !== going.length - wanted)
        await this.#lookAgain(going, answers, added);
    }
    return answers.filter((one) => one !== undefined);
  }

  async #readRules(): Promise<boolean> {
    const job = await requireQueue(this.#engine, this.#queue);
    if (JSON.stringify(job.spec) === JSON.stringify(this.#rules.job.spec)) return false;
    this.#rules = await rulesOf(job);
    return true;
  }

  /** Refuses what is wrong by itself, and looks up the rest. */
  async #look(items: readonly QueueItem[]) {
    const { spec } = this.#rules;
    const answers: (AddedItem | undefined)[] = new Array(items.length).fill(undefined);
    const entries: Entry[] = [];
    const keys: string[] = [];
    let needsTime = spec.expiresAfterMs !== undefined;
    for (const { key, expiresAt } of items) {
      if (key !== undefined && !idProblem(key)) keys.push(key);
      if (expiresAt !== undefined) needsTime = true;
    }
    const storedOf = await this.#find(keys);
    const now = needsTime ? await this.#engine.now() : 0;
    let place = 0;
    for (const given of items) {
      const reason = this.#problemOf(given, now);
      if (reason === undefined) {
        const stored = given.key === undefined ? null : (storedOf.get(given.key) ?? null);
        entries.push({ place, item: this.#newItem(given, now), stored });
      } else answers[place] = compact({ outcome: "refused", itemId: given.key, reason, because: "invalid" });
      place += 1;
    }
    return { answers, entries };
  }

  #problemOf({ data, key, dueAt, expiresAt }: QueueItem, now: number): string | undefined {
    const wrong = key === undefined ? undefined : idProblem(key);
    if (wrong !== undefined) return `its key ${wrong}`;
    const when =
      dueAt === undefined && expiresAt === undefined ? undefined : timeProblem(dueAt, expiresAt, now);
    if (when !== undefined) return when;
    const problem = this.#rules.check(data);
    return problem === undefined ? undefined : `does not match the schema: ${problem}`;
  }

  /** An expiry that the queue gives counts from when the item is due: one that is due tomorrow is not over today. */
  #newItem({ key, data, name, priority, dueAt, expiresAt, lane }: QueueItem, now: number): NewItem {
    const { spec } = this.#rules;
    const afterMs = spec.expiresAfterMs;
    const limit = afterMs === undefined ? undefined : Math.max(now, dueAt ?? now) + afterMs;
    const usual = { itemId: key ?? this.#nextName(), data, priority: priority ?? spec.priority };
    const end = expiresAt ?? limit;
    if ((name ?? dueAt ?? end ?? lane) === undefined) return usual; // nearly always, and there are many
    return { ...usual, ...compact({ name, dueAt, expiresAt: end, lane }) };
  }

  /** What the queue has of these, asked for at once: a server may be far away. */
  async #find(itemIds: readonly string[]): Promise<ReadonlyMap<string, Item>> {
    if (itemIds.length === 0) return new Map();
    const found = await this.#engine.listItems({ queue: this.#queue, itemIds, limit: itemIds.length });
    return new Map(found.map((item) => [item.itemId, item]));
  }

  /** The result by the queue's rule for duplicate keys. */
  #foreseen({ item, stored }: Entry): AddedItem {
    const { itemId } = item;
    if (stored === null) return { outcome: "added", itemId };
    const { unique } = this.#rules.spec;
    if (unique === "return") return { outcome: "existing", itemId };
    if (unique === "reject") return taken(itemId, `its key is taken by an item that is ${stored.state}`);
    if (isSame(item, stored)) return { outcome: "existing", itemId };
    if (stored.state === "ready" || stored.state === "held") return { outcome: "replaced", itemId };
    return taken(itemId, `only an item that waits is replaced, and that of its key is ${stored.state}`);
  }

  /**
   * Somebody else brought or took one of them in between. What each has become is read off the store; of several with
   * the same key and the same data as another process brought, the first count as ours: nobody can tell them apart.
   */
  async #lookAgain(
    going: readonly Entry[],
    answers: (AddedItem | undefined)[],
    added: number,
  ): Promise<void> {
    let left = added;
    const storedOf = await this.#find(going.map(({ item }) => item.itemId));
    for (const entry of going) {
      const { place, item } = entry;
      const now = storedOf.get(item.itemId) ?? null;
      const isOurs = now !== null && isSame(item, now);
      if (entry.stored !== null) {
        if (!isOurs) answers[place] = this.#foreseen({ ...entry, stored: now });
      } else if (isOurs && left > 0) left -= 1;
      else answers[place] = this.#foreseen({ ...entry, stored: now });
    }
  }
}

function taken(itemId: string, reason: string): AddedItem {
  return { outcome: "refused", itemId, reason, because: "key_taken" };
}

function timeProblem(
  dueAt: number | undefined,
  expiresAt: number | undefined,
  now: number,
): string | undefined {
  if (!isTime(dueAt) || !isTime(expiresAt)) return "its due time or its expiry is no time";
  if (expiresAt !== undefined && expiresAt <= now) return "it has expired already";
  if (expiresAt !== undefined && dueAt !== undefined && expiresAt <= dueAt)
    return "it expires before it is due";
  return undefined;
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
