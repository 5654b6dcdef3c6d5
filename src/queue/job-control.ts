/**
 * Requests to a running job: to stop it, or to stop or skip one of its items. They are stored in the store,
 * so that they reach the runner from any process or machine that can open the store.
 */
import type { Engine } from "../engine.ts";
import { isStoreError } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { RecordedChange } from "../item/store-queries.ts";
import type { ItemControl, ItemRequest } from "../runner/run-options.ts";
import type { StoreRetry } from "../runner/store-retry.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import type { Json } from "../std/json.ts";

interface Request {
  /** By the store's clock. */
  readonly at: number;
  readonly author: string;
}

interface Requests {
  /** A request to stop the whole job. It applies only to runners that started before the request. */
  readonly stop?: Request;
  /** Requests for items, by id. A stop ends the running attempt; a skip also applies to the next attempt. */
  readonly items: Readonly<Record<string, Request & Pick<ItemRequest, "action">>>;
}

const NONE: Requests = { items: {} };
const POLL_MS = 500;
/** Requests to stop an item are dropped after this time, when its attempt has long ended. */
const KEPT_MS = 10 * 60 * 1000;

function nameOf(queue: string): string {
  return `control/${queue}`;
}

export async function requestStop(engine: Engine, queue: string, author: string): Promise<void> {
  const at = await engine.now();
  const recorded = { author, action: "job_stop_requested", queue };
  await change(engine, { queue, recorded }, (requests) => ({ ...requests, stop: { at, author } }));
}

export async function requestForItem(
  engine: Engine,
  queue: string,
  itemId: string,
  { action, author }: ItemRequest,
): Promise<void> {
  const at = await engine.now();
  const recorded = { author, action: `item_${action}_requested`, queue, item_id: itemId };
  await change(engine, { queue, recorded }, ({ items, ...rest }) => {
    const kept = Object.entries(items).filter(([, one]) => one.action === "skip" || one.at > at - KEPT_MS);
    return { ...rest, items: { ...Object.fromEntries(kept), [itemId]: { action, author, at } } };
  });
}

/** Records the request of a person. Retries if another process has changed the requests at the same time. */
async function change(
  engine: Engine,
  { queue, recorded }: { readonly queue: string; readonly recorded?: RecordedChange },
  next: (requests: Requests) => Requests,
): Promise<void> {
  const name = nameOf(queue);
  for (;;) {
    const found = await engine.readDocument(name);
    const requests = next((found?.body ?? NONE) as unknown as Requests);
    const body = requests as unknown as Json;
    if (
      await engine.writeDocument(name, {
        seen: found?.version ?? 0,
        body,
        ...(recorded && { change: recorded }),
      })
    )
      return;
  }
}

interface Controlled {
  readonly engine: Engine;
  readonly clock?: Clock | undefined;
  readonly stop: AbortSignal;
  readonly control?: JobControl | undefined;
}

/**
 * Processes requests while the action runs, unless the caller already does. Requests abort the signal that
 * the action gets.
 */
export async function withControl<Deps extends Controlled, T>(
  { queue, storeRetry }: Pick<JobControlOptions, "queue" | "storeRetry">,
  deps: Deps,
  action: (deps: Deps) => Promise<T>,
): Promise<T> {
  if (deps.control !== undefined) return action(deps);
  const { engine, clock = systemClock, stop } = deps;
  const control = new JobControl({ engine, queue, clock, stop, storeRetry });
  try {
    await control.start();
    return await action({ ...deps, stop: control.stop, control });
  } finally {
    await control.close();
  }
}

interface JobControlOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly clock: Clock;
  /** Aborted when the runner itself must stop. */
  readonly stop: AbortSignal;
  /** Waits for a store that cannot be reached when the job begins to run. */
  readonly storeRetry: StoreRetry;
}

/** Polls the requests while a job runs, and carries them out. */
export class JobControl implements ItemControl {
  readonly #options: JobControlOptions;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  #since = 0;
  #version = 0;
  #requests: Requests = NONE;
  #isClosed = false;
  #polling: Promise<void> = Promise.resolve();
  #cancel: (() => void) | undefined;
  readonly #holding = new Set<Promise<void>>();

  constructor(options: JobControlOptions) {
    this.#options = options;
    const { stop } = options;
    if (stop.aborted) this.#stop.abort();
    else stop.addEventListener("abort", this.#onStop, { once: true });
  }

  /** Aborted when the runner must stop, because of a signal to its process or a request. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  async start(): Promise<void> {
    const { engine, storeRetry } = this.#options;
    this.#since = await storeRetry.run(() => engine.now());
    await this.#poll();
  }

  requestFor({ itemId, startedAt }: LeasedItem): ItemRequest | undefined {
    const { items } = this.#requests;
    const request = Object.hasOwn(items, itemId) ? items[itemId] : undefined;
    if (request === undefined) return undefined;
    return request.action === "skip" || request.at >= startedAt ? request : undefined;
  }

  listen(onRequest: () => void): () => void {
    this.#listeners.add(onRequest);
    return () => this.#listeners.delete(onRequest);
  }

  /** Holds an item whose attempt was stopped, so that it is not started again, and removes the request. */
  settled(item: LeasedItem, settlement: Settlement): void {
    const request = this.requestFor(item);
    if (request === undefined) return;
    const holding = this.#hold(item, request, settlement).finally(() => this.#holding.delete(holding));
    this.#holding.add(holding);
  }

  async #hold({ itemId }: LeasedItem, request: ItemRequest, { outcome, verdict }: Settlement): Promise<void> {
    const { engine, queue } = this.#options;
    const { action, author } = request;
    try {
      if (action === "stop" && outcome === "released" && verdict.kind === "park")
        await engine.hold(queue, [itemId], { author, reason: "its attempt was stopped" });
      await change(engine, { queue }, ({ items, ...rest }) => {
        const { [itemId]: _, ...others } = items;
        return { ...rest, items: others };
      });
    } catch (error) {
      if (!isStoreError(error)) throw error; // the item stays ready and can be stopped again
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    this.#options.stop.removeEventListener("abort", this.#onStop);
    await this.#polling;
    await Promise.all(this.#holding);
  }

  readonly #onStop = (): void => this.#stop.abort();

  async #poll(): Promise<void> {
    const { engine, queue, clock } = this.#options;
    try {
      const found = await engine.readDocument(nameOf(queue));
      if (found !== null && found.version !== this.#version) {
        this.#version = found.version;
        this.#requests = found.body as unknown as Requests;
        if ((this.#requests.stop?.at ?? -1) >= this.#since) this.#stop.abort();
        for (const listener of this.#listeners) listener();
      }
    } catch (error) {
      if (!isStoreError(error)) throw error; // the runner itself waits for the store
    }
    if (this.#isClosed) return;
    this.#cancel = clock.after(POLL_MS, () => {
      this.#polling = this.#poll();
    });
  }
}
