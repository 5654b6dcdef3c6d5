/**
 * Everything the in-memory engine knows, as plain data. The other files of this folder are the steps that change
 * it; each runs to its end without waiting, so each is atomic. What leaves the store is frozen or freshly made.
 */
import type { LetterGroup, NewHolder, NewOperation } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { Event } from "../../item/event.ts";
import type { Attempt, Grave } from "../../item/item.ts";
import type { Job } from "../../item/job.ts";
import type { Evidence } from "../../item/letter.ts";
import { ITEM_STATES, type ItemState } from "../../item/state.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Json } from "../../kit/json.ts";

/** The whole store. */
export interface Store {
  readonly url: string;
  readonly clock: Clock;
  /** The time of the step that runs. A step has one time, however long it takes. */
  now: number;
  /** By id, in order of creation. */
  readonly jobs: Map<string, Job>;
  readonly queues: Map<string, Queue>;
  /** The item with `ref` n is at n - 1. */
  readonly rows: Row[];
  readonly holders: Map<string, HolderRow>;
  readonly letters: Set<Row>;
  readonly groups: Map<string, GroupRow>;
  readonly operations: Map<string, OperationRow>;
  readonly events: Event[];
  /** How many burials there were: the number of the latest one. */
  burials: number;
  closed: boolean;
}

/** One queue, with counters that are kept with every change. */
export interface Queue {
  readonly name: string;
  readonly byId: Map<string, Row>;
  /** The ready items by (dueAt, ref); see line.ts. */
  readonly line: Row[];
  readonly counts: Record<ItemState, number>;
  letters: number;
  attempts: number;
}

/** One item and all that belongs to it. */
export interface Row {
  readonly ref: number;
  readonly queue: Queue;
  readonly itemId: string;
  readonly data: Json;
  state: ItemState;
  dueAt: number;
  /** One record for each started attempt; the attempt with number n is at n - 1. */
  readonly attempts: Attempt[];
  spent: number;
  losses: number;
  revision: number;
  /** Among the items of its queue, in order of their coming. */
  readonly index: number;
  redriveCount: number;
  /** The operation that sent it back to work, until it has come to an end. */
  operation: OperationRow | undefined;
  /** Present exactly while the item is a letter. */
  burial: Burial | undefined;
  readonly evidence: Evidence[];
}

/** When and under which gravestone an item became a letter. */
export interface Burial {
  /** Rises with every burial of the store; unlike a time, no two are the same and none goes back. */
  readonly number: number;
  readonly at: number;
  readonly grave: Grave;
}

/** A holder and what it holds. */
export interface HolderRow extends NewHolder {
  expiresAt: number;
  readonly leases: Set<Row>;
}

/** A group outlives its letters, so that it remembers when it was first seen. */
export type GroupRow = { -readonly [field in keyof LetterGroup]: LetterGroup[field] };

/** A redrive and its books. */
export interface OperationRow {
  readonly asked: NewOperation;
  readonly createdAt: number;
  endedAt: number | undefined;
  /** The letters that were there when it began, by burial. */
  readonly selection: readonly { readonly row: Row; readonly burial: number }[];
  /** How many of the selection were looked at. */
  position: number;
  redriven: number;
  refused: number;
  succeeded: number;
  failed: number;
}

/** A store with nothing in it. */
export function newStore(url: string, clock: Clock): Store {
  return {
    url,
    clock,
    now: clock.now(),
    jobs: new Map(),
    queues: new Map(),
    rows: [],
    holders: new Map(),
    letters: new Set(),
    groups: new Map(),
    operations: new Map(),
    events: [],
    burials: 0,
    closed: false,
  };
}

/** A queue with nothing in it. */
export function newQueue(name: string): Queue {
  return { name, byId: new Map(), line: [], counts: noItems(), letters: 0, attempts: 0 };
}

/** A counter for each state, all at zero. */
export function noItems(): Record<ItemState, number> {
  return Object.fromEntries(ITEM_STATES.map((state) => [state, 0])) as Record<ItemState, number>;
}

/** The queue, or `job_not_found`. */
export function requireQueue(store: Store, name: string): Queue {
  const queue = store.queues.get(name);
  if (queue) return queue;
  throw new WorkError("job_not_found", `There is no queue "${name}" in ${store.url}.`, {
    hint: "List the jobs of this store with `redrive jobs`.",
  });
}

/** A deep copy that nobody can change, with just what JSON keeps: what a store on disk would give back. */
export function frozenCopy<T>(value: T): T {
  return deepFreeze(JSON.parse(JSON.stringify(value))) as T;
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const entry of Object.values(value)) deepFreeze(entry);
  return Object.freeze(value);
}
