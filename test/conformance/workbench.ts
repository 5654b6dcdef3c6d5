/** The fixture of a contract test: a new store, a clock that the test moves, and helpers for routine steps. */
import { expect } from "vitest";
import type { Engine, LetterFilter, NewHolder, StoredLetter } from "../../src/engine.ts";
import type { Event, EventType } from "../../src/item/event.ts";
import type { DeathRecord, Item, LeasedItem, NewItem, Settlement } from "../../src/item/item.ts";
import type { LetterStep, NewOperation, Operation, OperationKind } from "../../src/item/operation.ts";
import { assert } from "../../src/std/assert.ts";
import { buried, failureOf } from "../support/settlements.ts";
import type { TestClock } from "../support/test-clock.ts";

/** Declares a test of the contract. */
export type Declare = (title: string, body: (bench: Workbench) => Promise<void>) => void;

/** The queue that every test starts with. */
export const QUEUE = "job-1";

/** The default author of operations. */
export const AUTHOR = "ada@host-1";

export class Workbench {
  engine: Engine;
  readonly clock: TestClock;
  closed = false;
  #operations = 0;
  #reopen: ((engine: Engine) => Promise<Engine>) | undefined;

  constructor(engine: Engine, clock: TestClock, reopen?: (engine: Engine) => Promise<Engine>) {
    this.engine = engine;
    this.clock = clock;
    this.#reopen = reopen;
  }

  /** Closes the store and opens it again, like the next process. */
  async reopen(): Promise<void> {
    assert(this.#reopen, "this engine cannot be reopened");
    this.engine = await this.#reopen(this.engine);
  }

  /** Closes the store before the end of the test, which then skips the final check. */
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

  async registerHolder(id = "holder-1", change: Partial<NewHolder> = {}): Promise<void> {
    await this.engine.registerHolder(newHolder(id, change));
  }

  /** Leases up to `max` items for the registered holder. */
  async lease(max: number, holder = "holder-1", queue = QUEUE): Promise<readonly LeasedItem[]> {
    return (await this.engine.settleAndLease(holder, { settle: [], lease: { queue, max } })).leased;
  }

  /** Leases one item; one must be due. */
  async leaseOne(holder = "holder-1", queue = QUEUE): Promise<LeasedItem> {
    const [leased] = await this.lease(1, holder, queue);
    assert(leased, "nothing was leased");
    return leased;
  }

  /** Settles and expects that no lease was lost. */
  async settle(...settlements: readonly Settlement[]): Promise<void> {
    const { stale } = await this.engine.settleAndLease(null, { settle: settlements });
    expect(stale).toEqual([]);
  }

  /** The one item with exactly this id in the queue. */
  async item(itemId: string, queue = QUEUE): Promise<Item> {
    const [found] = await this.engine.findItems(itemId, { queue, limit: 1 });
    assert(found?.itemId === itemId, `there is no item ${itemId}`);
    return found;
  }

  /** Adds items and buries them one after another at their first attempts. The holder must be registered. */
  async bury(itemIds: readonly string[], death: Partial<DeathRecord> = {}): Promise<void> {
    await this.add(...itemIds);
    for (const _ of itemIds) await this.settle(buried(await this.leaseOne(), death));
  }

  /** Adds an item and buries it for the failure with this message. */
  async buryFor(itemId: string, errorMessage: string): Promise<void> {
    await this.add(itemId);
    const lease = await this.leaseOne();
    await this.settle({ ...buried(lease), failure: failureOf(lease, { errorMessage }) });
  }

  async letter(itemId: string): Promise<StoredLetter | null> {
    return this.engine.readLetter((await this.item(itemId)).ref);
  }

  /** The letter number of the item. */
  async letterSequence(itemId: string): Promise<number> {
    const letter = await this.letter(itemId);
    assert(letter, `${itemId} is no letter`);
    return letter.letterSequence;
  }

  /** The item ids of all matching letters of the queue, newest burial first; without a filter, of those that wait. */
  async letterIds(filter: LetterFilter = {}): Promise<readonly string[]> {
    const { letters, total } = await this.engine.listLetters({ queue: QUEUE, ...filter, limit: 1000 });
    expect(total).toBe(letters.length);
    return letters.map(({ itemId }) => itemId);
  }

  /** Begins an operation on the queue's letters, by default a redrive. */
  async begin(id: string, change: Partial<NewOperation> = {}): Promise<Operation> {
    return this.engine.beginOperation({
      id,
      kind: "redrive",
      queue: QUEUE,
      filter: {},
      force: false,
      author: AUTHOR,
      plan: {},
      ...change,
    });
  }

  /** Starts an operation with a new id on the given items, or on all, and runs it to its end. */
  async operate(kind: OperationKind, itemIds?: readonly string[], change: Partial<NewOperation> = {}) {
    this.#operations += 1;
    const id = `${kind}-${this.#operations}`;
    const filter = { ...change.filter, ...(itemIds && { itemIds }) };
    await this.begin(id, { kind, ...change, filter });
    await this.engine.advance(id, { max: 1000 });
    return this.engine.closeOperation(id);
  }

  /** Edits the letter of the item in its own operation and returns the id of the operation. */
  async edit(itemId: string, step: Omit<LetterStep, "letterSequence">): Promise<string> {
    this.#operations += 1;
    const id = `edit-${this.#operations}`;
    await this.begin(id, { kind: "edit", filter: { itemIds: [itemId] } });
    await this.engine.advance(id, {
      letters: [{ letterSequence: await this.letterSequence(itemId), ...step }],
    });
    await this.engine.closeOperation(id);
    return id;
  }

  /** Redrives one letter in its own operation and leases it; nothing else may be due. */
  async redriveOne(operation: string, itemId: string): Promise<LeasedItem> {
    await this.begin(operation, { filter: { itemIds: [itemId] } });
    expect(await this.engine.advance(operation, { max: 1 })).toMatchObject({ done: 1 });
    return this.leaseOne();
  }

  /** The events of one type, oldest first. */
  async told(...types: readonly EventType[]): Promise<readonly Event[]> {
    return this.engine.listEvents({ after: 0, types, limit: 1000 });
  }

  /** The types of all events after the cursor, oldest first. */
  async eventTypes(after = 0): Promise<readonly string[]> {
    return (await this.engine.listEvents({ after, limit: 10_000 })).map(({ type }) => type);
  }

  /** The id of the newest event, as a cursor for later events. */
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
