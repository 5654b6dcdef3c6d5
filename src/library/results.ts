/**
 * Waits for the results of items. Local workers report them immediately; other results are read from the
 * store.
 */
import type { Engine } from "../engine.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import type { Item, LeasedItem, Verdict } from "../item/item.ts";
import type { Clock } from "../std/clock.ts";
import type { Json } from "../std/json.ts";
import { letterOf } from "./letter.ts";

export interface WaitOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Waiter {
  readonly resolve: (result: Json) => void;
  readonly reject: (error: unknown) => void;
}

/** The first check is early for short work; later checks are further apart. */
const FIRST_CHECK_MS = 25;
const CHECK_MS_MAX = 1000;
const CHECKED_MAX = 500;

export class ResultWaiters {
  readonly #engine: Engine;
  readonly #clock: Clock;
  /** The waiters by queue and item id. */
  readonly #waiting = new Map<string, Map<string, Set<Waiter>>>();
  #cancelCheck: (() => void) | undefined;
  #checkMs = FIRST_CHECK_MS;
  #isClosed = false;

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** Resolves with the result of a done item; rejects with `item_dead`, `wait_timeout` or `interrupted`. */
  async wait(queue: string, id: string, { timeoutMs, signal }: WaitOptions): Promise<Json> {
    if (this.#isClosed) throw closed(id);
    let waiter: Waiter | undefined;
    let endWait: () => void = () => undefined;
    const end = new Promise<Json>((resolve, reject) => {
      waiter = { resolve, reject };
      const all = this.#waiting.get(queue) ?? new Map<string, Set<Waiter>>();
      this.#waiting.set(queue, all.set(id, (all.get(id) ?? new Set()).add(waiter)));
      const onAbort = () => reject(interrupted(id, signal?.reason));
      const cancel =
        timeoutMs === undefined
          ? () => undefined
          : this.#clock.after(timeoutMs, () => reject(timedOut(id, timeoutMs)));
      if (signal?.aborted) onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      endWait = () => {
        cancel();
        signal?.removeEventListener("abort", onAbort);
      };
    });
    this.#checkMs = FIRST_CHECK_MS;
    this.#planCheck(0);
    try {
      return await end;
    } finally {
      endWait();
      if (waiter !== undefined) this.#leave(queue, id, waiter);
    }
  }

  /** Called after a local worker has stored the end of an attempt. */
  settled({ queue, itemId }: Pick<LeasedItem, "queue" | "itemId">, { kind }: Verdict): void {
    if (this.#waiting.get(queue)?.has(itemId) && ENDS.includes(kind)) this.#planCheck(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelCheck?.();
    for (const all of this.#waiting.values())
      for (const [id, waiters] of all) for (const { reject } of waiters) reject(closed(id));
  }

  #leave(queue: string, id: string, waiter: Waiter): void {
    const all = this.#waiting.get(queue);
    const others = all?.get(id);
    others?.delete(waiter);
    if (others?.size === 0) all?.delete(id);
    if (all?.size === 0) this.#waiting.delete(queue);
  }

  #planCheck(ms: number): void {
    if (this.#isClosed || this.#waiting.size === 0) return;
    if (ms === 0) {
      this.#cancelCheck?.();
      this.#cancelCheck = undefined;
    }
    this.#cancelCheck ??= this.#clock.after(ms, () => {
      this.#cancelCheck = undefined;
      void this.#check().then(() => {
        this.#planCheck(this.#checkMs);
        this.#checkMs = Math.min(CHECK_MS_MAX, this.#checkMs * 2);
      });
    });
  }

  async #check(): Promise<void> {
    for (const [queue, all] of [...this.#waiting]) {
      try {
        await this.#checkQueue(queue, [...all.keys()]);
      } catch (error) {
        if (isStoreTrouble(error) && !error.isStoreGone) continue; // the next check reads the store again
        for (const waiters of all.values()) for (const { reject } of waiters) reject(error);
      }
    }
  }

  async #checkQueue(queue: string, ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += CHECKED_MAX) {
      const itemIds = ids.slice(at, at + CHECKED_MAX);
      const found = await this.#engine.listItems({ queue, itemIds, limit: itemIds.length });
      const known = new Set(found.map(({ itemId }) => itemId));
      for (const item of found) await this.#report(queue, item);
      for (const id of itemIds)
        if (!known.has(id)) this.#end(queue, id, ({ reject }) => reject(notFound(queue, id)));
    }
  }

  async #report(queue: string, item: Item): Promise<void> {
    if (item.state === "done") {
      const attempts = await this.#engine.listAttempts(item.ref);
      const result = attempts.findLast(({ outcome }) => outcome === "succeeded")?.result ?? null;
      this.#end(queue, item.itemId, ({ resolve }) => resolve(result));
    } else if (item.state === "dead" || item.state === "skipped" || item.state === "discarded") {
      const letter = await this.#engine.readLetter(item.ref);
      const error = ended(item, letter === null ? undefined : letterOf(letter));
      this.#end(queue, item.itemId, ({ reject }) => reject(error));
    }
  }

  #end(queue: string, id: string, tell: (waiter: Waiter) => void): void {
    for (const waiter of this.#waiting.get(queue)?.get(id) ?? []) tell(waiter);
  }
}

const ENDS: readonly Verdict["kind"][] = ["done", "bury", "skip", "stop"];

/** The letter is the `cause`, so that a caller can read its failures. */
function ended(
  { itemId, queue, state }: Item,
  letter: ReturnType<typeof letterOf> | undefined,
): RedriveError {
  const why = letter?.failures.at(-1)?.message ?? letter?.reason;
  const what = state === "dead" ? "is a dead letter" : `was ${state}`;
  const detail = why === undefined ? "" : `: ${why}`;
  return new RedriveError("item_dead", `The item ${itemId} of ${queue} ${what}${detail}.`, {
    hint: `Retry it: redrive dlq retry ${queue} --id ${itemId}`,
    ...(letter && { cause: letter }),
  });
}

function notFound(queue: string, id: string): RedriveError {
  return new RedriveError("item_not_found", `There is no item ${id} in ${queue}.`);
}

function timedOut(id: string, timeoutMs: number): RedriveError {
  return new RedriveError("wait_timeout", `The item ${id} has no result after ${timeoutMs} ms.`, {
    hint: "The item is not affected. Wait again with a longer timeout, or check that a worker is running.",
  });
}

function interrupted(id: string, cause: unknown): RedriveError {
  return new RedriveError(
    "interrupted",
    `The wait for the item ${id} was aborted. The item is not affected.`,
    {
      cause,
    },
  );
}

function closed(id: string): RedriveError {
  return new RedriveError("interrupted", `The store was closed before the item ${id} had a result.`);
}
