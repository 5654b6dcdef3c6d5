/** Adds the items of a sequential workflow one at a time, each after the previous one has ended. */
import type { Engine } from "../engine.ts";
import type { NewItem } from "../item/item.ts";
import type { Feed } from "../runner/run-options.ts";
import type { StoreRetry } from "../runner/store-retry.ts";

/** Resolves waiting promises when an attempt has been settled. */
export class SettledSignal {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}

interface OneByOne {
  readonly engine: Engine;
  readonly jobId: string;
  readonly items: readonly NewItem[];
  readonly settled: SettledSignal;
  readonly storeRetry: StoreRetry;
  readonly signal: AbortSignal;
}

/** Adds the missing items. Ends early when the run stops or an item has failed. */
export async function* addOneByOne(given: OneByOne): ReturnType<Feed> {
  const { engine, jobId, items, storeRetry } = given;
  for (const item of items) {
    if (!(await waitUntilIdle(given))) return;
    yield (await storeRetry.run(() => engine.add(jobId, [item]))).added;
  }
}

/** Returns false when the run stops, or when an item has failed: the next one would build on unfinished work. */
async function waitUntilIdle({ engine, jobId, settled, storeRetry, signal }: OneByOne): Promise<boolean> {
  for (;;) {
    const next = settled.next(signal);
    const { ready, leased, dead } = await storeRetry.run(() => engine.count(jobId));
    if (signal.aborted) return false;
    if (ready + leased === 0) return dead === 0;
    await next;
  }
}
