/** Counters, which only increase and survive all deletions. */
import type { Counter } from "../../../src/engine.ts";
import { compareCodePoints } from "./letter-order.ts";
import type { Queue, Store } from "./store.ts";

/** Increases each name by one. */
export function countUp({ counters }: Queue, names: readonly string[]): void {
  for (const name of names) counters.set(name, (counters.get(name) ?? 0) + 1);
}

/** By queue, in the order of their making, then by name. */
export function listCounters(store: Store): readonly Counter[] {
  return [...store.queues.values()].flatMap(({ name: queue, counters }) =>
    [...counters]
      .map(([name, value]) => ({ queue, name, value }))
      .sort((a, b) => compareCodePoints(a.name, b.name)),
  );
}
