/** What a test of the contract works with: one fresh store, a clock that stands still, and short words for routine. */
import { expect } from "vitest";
import type { Engine, NewHolder, NewOperation } from "../../src/engine.ts";
import type { Item, LeasedItem, NewItem, Settlement } from "../../src/item/item.ts";
import type { Letter } from "../../src/item/letter.ts";
import { assert } from "../../src/kit/assert.ts";
import type { TestClock } from "../support/test-clock.ts";

/** Declares a test of the contract. */
export type Declare = (title: string, body: (bench: Workbench) => Promise<void>) => void;

/** The queue that every test finds, made with the bench. */
export const QUEUE = "job-1";

export class Workbench {
  engine: Engine;
  readonly clock: TestClock;
  closed = false;
  #reopen: ((engine: Engine) => Promise<Engine>) | undefined;

  constructor(engine: Engine, clock: TestClock, reopen?: (engine: Engine) => Promise<Engine>) {
    this.engine = engine;
    this.clock = clock;
    this.#reopen = reopen;
  }

  /** Closes the store and opens it again, as the next process would. */
  async reopen(): Promise<void> {
    assert(this.#reopen, "this engine cannot be reopened");
    this.engine = await this.#reopen(this.engine);
  }

  /** Closes the store before the end of the test; there is nothing left to check then. */
  async close(): Promise<void> {
    await this.engine.close();
    this.closed = true;
  }

  async job(id: string): Promise<void> {
    await this.engine.createJob({ id, name: `name of ${id}`, kind: "map", spec: {} });
  }

  /** Adds items with these ids, each with its id as data. */
  async add(...itemIds: readonly string[]): Promise<void> {
    await this.engine.add(QUEUE, itemIds.map(newItem));
  }

  async enter(id = "holder-1", change: Partial<NewHolder> = {}): Promise<void> {
    await this.engine.enter(newHolder(id, change));
  }

  /** Leases up to `max` items for the holder, which has entered. */
  async lease(max: number, holder = "holder-1", queue = QUEUE): Promise<readonly LeasedItem[]> {
    return (await this.engine.exchange(holder, { settle: [], lease: { queue, max } })).leased;
  }

  /** Leases one item; there must be one due. */
  async leaseOne(holder = "holder-1", queue = QUEUE): Promise<LeasedItem> {
    const [leased] = await this.lease(1, holder, queue);
    assert(leased, "nothing was leased");
    return leased;
  }

  /** Settles, and expects that every lease was held. */
  async settle(...settlements: readonly Settlement[]): Promise<void> {
    const { stale } = await this.engine.exchange(null, { settle: settlements });
    expect(stale).toEqual([]);
  }

  /** The one item with exactly this id in the queue. */
  async item(itemId: string, queue = QUEUE): Promise<Item> {
    const [found] = await this.engine.findItems(itemId, { queue, limit: 1 });
    assert(found?.itemId === itemId, `there is no item ${itemId}`);
    return found;
  }

  async letter(itemId: string): Promise<Letter | null> {
    return this.engine.readLetter((await this.item(itemId)).ref);
  }

  /** The ids of all letters of the queue, newest burial first. */
  async letterIds(): Promise<readonly string[]> {
    const { letters } = await this.engine.listLetters({ queue: QUEUE, limit: 1000 });
    return letters.map(({ itemId }) => itemId);
  }

  /** Begins a redrive of the queue's letters. */
  async begin(id: string, change: Partial<NewOperation> = {}) {
    return this.engine.beginOperation({
      id,
      kind: "redrive",
      queue: QUEUE,
      filter: {},
      force: false,
      ...change,
    });
  }

  /** The types of all events after the cursor, oldest first. */
  async eventTypes(after = 0): Promise<readonly string[]> {
    return (await this.engine.listEvents({ after, limit: 10_000 })).map(({ type }) => type);
  }

  /** The id of the newest event: the cursor from which a test looks on. */
  async lastEvent(): Promise<number> {
    return (await this.engine.listEvents({ after: 0, limit: 10_000 })).at(-1)?.id ?? 0;
  }
}

export function newItem(itemId: string): NewItem {
  return { itemId, data: { name: itemId } };
}

export function newHolder(id: string, change: Partial<NewHolder> = {}): NewHolder {
  return { id, queue: QUEUE, host: "host-1", pid: 42, processStart: "100", ttlMs: 10_000, ...change };
}
