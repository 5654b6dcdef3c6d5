/**
 * The whole state of the model, as plain data. The other files of this folder are the steps that change it; each
 * runs synchronously, so each is atomic. Results are frozen or new.
 */
import type { LetterGroup, NewHolder, SharedDocument } from "../../../src/engine.ts";
import { RedriveError } from "../../../src/errors.ts";
import type { Event } from "../../../src/item/event.ts";
import type { Correction, GroupFix, GroupLife } from "../../../src/item/group.ts";
import type { Attempt, DeathRecord, Priority } from "../../../src/item/item.ts";
import type { Job } from "../../../src/item/job.ts";
import type { Amendment, LateResult, LetterNote, Resolution } from "../../../src/item/letter.ts";
import type { NewOperation, OperationStatus, SelectedLetter } from "../../../src/item/operation.ts";
import { ITEM_STATES, type ItemState } from "../../../src/item/state.ts";
import type { Clock } from "../../../src/std/clock.ts";
import { copyJson, type Json, type JsonObject } from "../../../src/std/json.ts";

/** The whole store. */
export interface Store {
  readonly clock: Clock;
  /** The time of the running step. A step has one time, however long it takes. */
  now: number;
  /** By id, in order of creation. */
  readonly jobs: Map<string, Job>;
  readonly queues: Map<string, Queue>;
  /** The item with `ref` n is at n - 1. */
  readonly rows: Row[];
  readonly holders: Map<string, HolderRow>;
  /** The items with a death record, by the number of their burial; including resolved letters. */
  readonly letters: Map<number, Row>;
  readonly groups: Map<string, GroupRow>;
  /** By signature. */
  readonly records: Map<string, RecordRow>;
  /** Oldest first. */
  corrections: readonly Correction[];
  readonly arrivals: Map<string, ArrivalRow>;
  readonly operations: Map<string, OperationRow>;
  readonly events: Event[];
  /** By name; the gates of queues are among them. */
  readonly documents: Map<string, SharedDocument>;
  /** The number of burials, which is the number of the latest one. */
  burials: number;
  closed: boolean;
}

/** One queue, with counters that are updated with every change. */
export interface Queue {
  readonly name: string;
  readonly byId: Map<string, Row>;
  /** The ready items by (priority, dueAt, ref); see line.ts. */
  readonly line: Row[];
  /** The items of each ordering key, oldest first. */
  readonly orderingKeys: Map<string, Row[]>;
  /** Until when the rate is used up; see item/rate.ts. */
  spentUntil: number;
  /** Counters that only increase, by name. */
  readonly counters: Map<string, number>;
  readonly counts: Record<ItemState, number>;
  /** Waiting letters. */
  letters: number;
  /** Letters that are resolved because their items succeeded. */
  resolved: number;
  /** Letters that were ever deleted. */
  purged: number;
  evicted: number;
  attempts: number;
}

/** One item with all its data. */
export interface Row {
  readonly ref: number;
  readonly queue: Queue;
  readonly itemId: string;
  data: Json;
  name: string | undefined;
  state: ItemState;
  priority: Priority;
  dueAt: number;
  expiresAt: number | undefined;
  orderingKey: string | undefined;
  /** The item that this one was made from. */
  readonly origin: Row | undefined;
  /** The items that were made from this one, oldest first. */
  readonly offspring: Row[];
  /** The number of attempts ever started. */
  started: number;
  /** One record for each started attempt; attempt number n is at n - 1. Empty after a purge. */
  attempts: Attempt[];
  attemptsCounted: number;
  lostCount: number;
  revision: number;
  /** Its position in the queue. */
  readonly index: number;
  redriveCount: number;
  /** The operation that redrove it, until it has ended. */
  operation: OperationRow | undefined;
  /** Present exactly while the item is a letter, even a resolved one. */
  burial: Burial | undefined;
  /** Present exactly if the letter is resolved. */
  resolution: Resolution | undefined;
  /** Its letter was deleted with all its data. */
  purged: boolean;
  lateResults: LateResult[];
  amendments: Amendment[];
  notes: LetterNote[];
}

/** When and under which death record an item became a letter. */
export interface Burial {
  /** Increases with every burial of the store; unlike times, no two are equal and none decreases. */
  readonly number: number;
  /** The time of the last failure, and of the first. */
  readonly at: number;
  readonly firstAt: number;
  /** When the store received it: `at`, unless it was imported. */
  readonly arrivedAt: number;
  readonly death: DeathRecord;
  /** The revision of the data that died. */
  readonly revision: number;
}

/** A holder and its leases. */
export interface HolderRow extends NewHolder {
  expiresAt: number;
  readonly leases: Set<Row>;
}

/** A group outlives its letters, so that it keeps its first time. */
export type GroupRow = { -readonly [field in CountedField]: LetterGroup[field] };
type CountedField = Exclude<keyof LetterGroup, "state" | "isRegression">;

/** The record of a signature. Never deleted. */
export interface RecordRow {
  readonly signature: string;
  /** That of its first letter, whatever the later ones have. */
  readonly pattern: string;
  life: GroupLife;
  readonly notes: LetterNote[];
  /** By redrive and kind, in order of their first success. */
  readonly fixes: Map<string, GroupFix>;
}

/** The burials of one minute whose death records have the same counted fields. */
export interface ArrivalRow {
  readonly queue: string;
  readonly minute: number;
  readonly death: Pick<DeathRecord, "signature" | "errorType" | "errorClass" | "reprocessEligible">;
  waiting: number;
  ever: number;
}

/** An operation and its totals. */
export interface OperationRow {
  readonly asked: NewOperation;
  status: OperationStatus;
  readonly createdAt: number;
  endedAt: number | undefined;
  readonly bound: number;
  cursor: string | undefined;
  /** False while letters may still be enlisted. */
  isComplete: boolean;
  progress: JsonObject;
  /** By burial. */
  readonly selection: Map<number, SelectedRow>;
  done: number;
  refused: number;
  succeeded: number;
  failed: number;
  returned: number;
}

/** One letter of a selection, with its state at that time. */
export interface SelectedRow {
  readonly row: Row;
  readonly letterSequence: number;
  readonly signature: string;
  readonly state: ItemState;
  status: SelectedLetter["status"];
  reason: string | undefined;
}

/** An empty store. */
export function newStore(clock: Clock): Store {
  return {
    clock,
    now: clock.now(),
    jobs: new Map(),
    queues: new Map(),
    rows: [],
    holders: new Map(),
    letters: new Map(),
    groups: new Map(),
    records: new Map(),
    corrections: [],
    arrivals: new Map(),
    operations: new Map(),
    events: [],
    documents: new Map(),
    burials: 0,
    closed: false,
  };
}

/** An empty queue. */
export function newQueue(name: string): Queue {
  const sums = { letters: 0, resolved: 0, purged: 0, evicted: 0, attempts: 0, spentUntil: 0 };
  const places = { byId: new Map(), line: [], orderingKeys: new Map() };
  return { name, ...places, counts: noItems(), counters: new Map(), ...sums };
}

/** A counter for each state, all at zero. */
export function noItems(): Record<ItemState, number> {
  return Object.fromEntries(ITEM_STATES.map((state) => [state, 0])) as Record<ItemState, number>;
}

/** The queue, or `job_not_found`. */
export function requireQueue(store: Store, name: string): Queue {
  const queue = store.queues.get(name);
  if (queue) return queue;
  throw new RedriveError("job_not_found", `There is no queue "${name}".`, {
    hint: "List the jobs of this store with `redrive jobs`.",
  });
}

/** A frozen deep copy with only what JSON keeps, as a store on disk would return it. */
export function frozenCopy<T>(value: T): T {
  return deepFreeze(copyJson(value)) as T;
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const entry of Object.values(value)) deepFreeze(entry);
  return Object.freeze(value);
}
