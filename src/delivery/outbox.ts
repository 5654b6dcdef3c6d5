/**
 * Writes receipts to the store: those that arrive during a write are written together in the next one, so that many cost
 * little more than one. Nothing is acknowledged before it is durable.
 */
import type { Engine } from "../engine.ts";
import { isStoreTrouble, WorkError } from "../errors.ts";
import type { LeasedItem, NewItem, Settlement } from "../item/item.ts";
import type { ItemState } from "../item/state.ts";
import type { Clock } from "../std/clock.ts";

/** Small enough that other writers get their turn. */
const BATCH_MAX = 500;

interface Entry {
  readonly item: NewItem;
  readonly resolve: (isNew: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export class Outbox {
  readonly #engine: Engine;
  readonly #queue: string;
  #waiting: Entry[] = [];
  #writing: Promise<void> | null = null;

  constructor(engine: Engine, queue: string) {
    this.#engine = engine;
    this.#queue = queue;
  }

  /**
   * Resolves with whether it is new. Rejects with `receipt_conflict` when the key has another body, and with the store's
   * error when nothing was written.
   */
  add(item: NewItem): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null;
      });
    });
  }

  /** Resolves when nothing is being written any more. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await Promise.resolve(); // those that are sent in the same turn go together
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      await this.#write(batch);
    }
  }

  /** When not all are new, each is asked for by itself, which writes nothing twice: the store knows what it has. */
  async #write(batch: readonly Entry[]): Promise<void> {
    try {
      const { added } = await this.#engine.add(
        this.#queue,
        batch.map(({ item }) => item),
      );
      if (added === batch.length) for (const { resolve } of batch) resolve(true);
      else for (const entry of batch) await this.#meet(entry, batch.length === 1 && added === 1);
    } catch (error) {
      for (const { reject } of batch) reject(error); // those that were told before are not told again
    }
  }

  async #meet({ item, resolve, reject }: Entry, isNew: boolean): Promise<void> {
    const { changed } = await this.#engine.add(this.#queue, [item]);
    if (changed > 0) reject(conflict(this.#queue, item.itemId));
    else resolve(isNew);
  }
}

function conflict(target: string, key: string): WorkError {
  return new WorkError(
    "receipt_conflict",
    `A receipt with the key ${key} and another body was sent to ${target} before.`,
    {
      hint: "The first one counts. If this is another receipt, send it under a key of its own.",
    },
  );
}

const LOOK_MS = 1000;
/** However many wait, the store is asked for so many at a time. */
const LOOKS_MAX = 100;

interface Waiter {
  readonly resolve: (isDelivered: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** A place in the line of those who wait. */
export interface Waiting {
  readonly end: Promise<boolean>;
  /** Leaves the line; the end never comes then. */
  leave(): void;
}

export class Waiters {
  readonly #engine: Engine;
  readonly #queue: string;
  readonly #clock: Clock;
  /** By the keys of their receipts, those that were looked up longest ago first. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  #cancelLook: (() => void) | undefined;
  #ended: { readonly error: unknown } | null = null;

  constructor(engine: Engine, queue: string, clock: Clock) {
    this.#engine = engine;
    this.#queue = queue;
    this.#clock = clock;
  }

  /** True: delivered; false: dead, or given up by a person. */
  wait(key: string): Waiting {
    let waiter: Waiter | undefined;
    const end = new Promise<boolean>((resolve, reject) => {
      waiter = { resolve, reject };
      if (this.#ended !== null) return reject(this.#ended.error);
      const others = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, others.add(waiter));
      this.#planLook();
    });
    end.catch(() => undefined); // whoever left does not hear it
    return { end, leave: () => waiter && this.#leave(key, waiter) };
  }

  /** A try of this process has come to its end, and the store has it. */
  readonly settled = (
    { itemId }: Pick<LeasedItem, "itemId">,
    { verdict }: Pick<Settlement, "verdict">,
  ): void => {
    if (verdict.kind === "done") this.#tell(itemId, true);
    else if (verdict.kind === "bury" || verdict.kind === "stop" || verdict.kind === "skip")
      this.#tell(itemId, false);
  };

  /** Looks one up in the store now. */
  async look(key: string): Promise<void> {
    const found = await this.#engine.findItems(key, { queue: this.#queue, limit: 1 });
    const item = found.find(({ itemId }) => itemId === key);
    const isDelivered = item === undefined ? undefined : END[item.state];
    if (isDelivered !== undefined) this.#tell(key, isDelivered);
  }

  /** Nobody here will hear of an end any more. */
  end(error: unknown): void {
    this.#ended ??= { error };
    this.#cancelLook?.();
    for (const waiters of this.#waiting.values()) for (const { reject } of waiters) reject(error);
    this.#waiting.clear();
  }

  #tell(key: string, isDelivered: boolean): void {
    const waiters = this.#waiting.get(key);
    if (waiters === undefined) return;
    this.#waiting.delete(key);
    for (const { resolve } of waiters) resolve(isDelivered);
  }

  #leave(key: string, waiter: Waiter): void {
    const others = this.#waiting.get(key);
    others?.delete(waiter);
    if (others?.size === 0) this.#waiting.delete(key);
  }

  #planLook(): void {
    if (this.#ended !== null || this.#waiting.size === 0) return;
    this.#cancelLook ??= this.#clock.after(LOOK_MS, () => {
      void this.#lookAtSome().finally(() => {
        this.#cancelLook = undefined;
        this.#planLook();
      });
    });
  }

  async #lookAtSome(): Promise<void> {
    for (const key of [...this.#waiting.keys()].slice(0, LOOKS_MAX)) {
      try {
        await this.look(key);
      } catch (error) {
        if (!isStoreTrouble(error)) this.end(error);
        return; // a store that does not answer is asked again
      }
      const others = this.#waiting.get(key);
      if (others === undefined) continue;
      this.#waiting.delete(key); // it is the last in line now
      this.#waiting.set(key, others);
    }
  }
}

/** The states in which a receipt has come to its end. */
const END: Readonly<Partial<Record<ItemState, boolean>>> = {
  done: true,
  dead: false,
  discarded: false,
  skipped: false,
};

/** Waits until the signal is aborted; the receipt is kept all the same. */
export async function waitUntil(
  waiting: Waiting,
  key: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (signal === undefined) return waiting.end;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(noLonger(key));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([waiting.end, aborted]);
  } finally {
    if (onAbort) signal.removeEventListener("abort", onAbort);
    waiting.leave();
  }
}

function noLonger(key: string): WorkError {
  return new WorkError(
    "interrupted",
    `Nobody waits for the receipt ${key} any more; it is kept, and will be delivered.`,
  );
}
