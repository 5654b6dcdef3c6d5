/**
 * Writes receipts to the store and waits for their results. Receipts that arrive during a write are batched into the next
 * one. A receipt is acknowledged only after it is durable.
 */
import type { Engine } from "../engine.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import type { LeasedItem, NewItem, Settlement } from "../item/item.ts";
import type { ItemState } from "../item/state.ts";
import type { Clock } from "../std/clock.ts";

/** Keeps transactions short, so that other writers are not blocked for long. */
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
   * Resolves with whether the receipt is new. Rejects with `receipt_conflict` if its key was used with
   * another body.
   */
  add(item: NewItem): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null;
      });
    });
  }

  async idle(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await Promise.resolve(); // lets all receipts of the same tick join one batch
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      await this.#write(batch);
    }
  }

  /** Adds those receipts again that are not new, which writes nothing and finds the conflicting ones. */
  async #write(batch: readonly Entry[]): Promise<void> {
    try {
      const items = batch.map(({ item }) => item);
      const { existingIds = [] } = await this.#engine.add(this.#queue, items, { listsExisting: true });
      const [isNew, isAgain] = splitNew(batch, existingIds);
      for (const { resolve } of isNew) resolve(true);
      for (const entry of isAgain) await this.#addAgain(entry);
    } catch (error) {
      for (const { reject } of batch) reject(error); // has no effect on promises that are already resolved
    }
  }

  async #addAgain({ item, resolve, reject }: Entry): Promise<void> {
    const { changed } = await this.#engine.add(this.#queue, [item]);
    if (changed > 0) reject(conflict(this.#queue, item.itemId));
    else resolve(false);
  }
}

/** Splits a batch into new receipts and others. Of several with one key, only the first can be new. */
function splitNew(
  batch: readonly Entry[],
  existingIds: readonly string[],
): readonly [isNew: readonly Entry[], isAgain: readonly Entry[]] {
  if (existingIds.length === 0) return [batch, []];
  const left = new Map<string, number>();
  for (const id of existingIds) left.set(id, (left.get(id) ?? 0) + 1);
  const split: [Entry[], Entry[]] = [[], []];
  for (const entry of [...batch].reverse()) {
    const again = left.get(entry.item.itemId) ?? 0;
    split[again > 0 ? 1 : 0].unshift(entry);
    left.set(entry.item.itemId, again - 1);
  }
  return split;
}

function conflict(target: string, key: string): RedriveError {
  const message = `A receipt with the key ${key} but a different body was already sent to ${target}.`;
  return new RedriveError("receipt_conflict", message, {
    hint: "The first receipt is kept. Use a new key for a different receipt.",
  });
}

const CHECK_MS = 1000;
const CHECKS_MAX = 100;

type Waiter = { readonly resolve: (isDelivered: boolean) => void; readonly reject: (error: unknown) => void };

/** A pending wait for the result of one receipt. */
export type Waiting = { readonly end: Promise<boolean>; readonly leave: () => void };

/** Callers that wait for the result of a receipt. If another process delivers it, the result is read from the store. */
export class Waiters {
  readonly #engine: Engine;
  readonly #queue: string;
  readonly #clock: Clock;
  /** Waiters by the key of their receipt, least recently checked first. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  #cancelCheck: (() => void) | undefined;
  #ended: { readonly error: unknown } | null = null;

  constructor(engine: Engine, queue: string, clock: Clock) {
    this.#engine = engine;
    this.#queue = queue;
    this.#clock = clock;
  }

  /** Resolves with true when the receipt is delivered, and with false when it is dead, skipped or discarded. */
  wait(key: string): Waiting {
    let waiter: Waiter | undefined;
    const end = new Promise<boolean>((resolve, reject) => {
      waiter = { resolve, reject };
      if (this.#ended !== null) return reject(this.#ended.error);
      this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(waiter));
      this.#planCheck();
    });
    end.catch(() => undefined); // avoids an unhandled rejection after `leave`
    const leave = () => {
      const others = this.#waiting.get(key);
      if (waiter) others?.delete(waiter);
      if (others?.size === 0) this.#waiting.delete(key);
    };
    return { end, leave };
  }

  settled({ itemId }: Pick<LeasedItem, "itemId">, { verdict }: Pick<Settlement, "verdict">): void {
    if (verdict.kind === "done") this.#resolve(itemId, true);
    else if (["bury", "stop", "skip"].includes(verdict.kind)) this.#resolve(itemId, false);
  }

  /** Reads the state of a receipt from the store, and resolves its waiters if the receipt has ended. */
  async look(key: string): Promise<void> {
    const found = await this.#engine.findItems(key, { queue: this.#queue, limit: 1 });
    const item = found.find(({ itemId }) => itemId === key);
    const isDelivered = item === undefined ? undefined : END[item.state];
    if (isDelivered !== undefined) this.#resolve(key, isDelivered);
  }

  /** Rejects all current and future waiters, because this process no longer observes results. */
  end(error: unknown): void {
    this.#ended ??= { error };
    this.#cancelCheck?.();
    for (const waiters of this.#waiting.values()) for (const { reject } of waiters) reject(error);
    this.#waiting.clear();
  }

  #resolve(key: string, isDelivered: boolean): void {
    for (const { resolve } of this.#waiting.get(key) ?? []) resolve(isDelivered);
    this.#waiting.delete(key);
  }

  #planCheck(): void {
    if (this.#ended !== null || this.#waiting.size === 0) return;
    this.#cancelCheck ??= this.#clock.after(CHECK_MS, () => {
      void this.#checkSome().finally(() => {
        this.#cancelCheck = undefined;
        this.#planCheck();
      });
    });
  }

  async #checkSome(): Promise<void> {
    for (const key of [...this.#waiting.keys()].slice(0, CHECKS_MAX)) {
      try {
        await this.look(key);
      } catch (error) {
        if (!isStoreTrouble(error)) this.end(error);
        return; // the next check reads an unavailable store again
      }
      const others = this.#waiting.get(key);
      if (others === undefined) continue;
      this.#waiting.delete(key); // moves the key to the end
      this.#waiting.set(key, others);
    }
  }
}

const END: Partial<Record<ItemState, boolean>> = {
  done: true,
  dead: false,
  discarded: false,
  skipped: false,
};

/** Waits for the result until the signal is aborted. The receipt stays stored in either case. */
export async function waitUntil(
  { end, leave }: Waiting,
  key: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (signal === undefined) return end;
  const message = `The target was closed before the receipt ${key} was delivered. It is stored and will be delivered later.`;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new RedriveError("interrupted", message));
  });
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([end, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    leave();
  }
}
