/** A store as the library's user has it: the engine, its queues by their names, and the targets of its receipts. */
import type { OpenOptions } from "../engines/open.ts";
import { WorkError } from "../errors.ts";
import { openStore as openQueues, type Store as QueueStore } from "../queue/store.ts";
import { Target } from "./target.ts";
import type { TargetOptions } from "./target-options.ts";

/** An engine with the queues and targets of its store. */
export interface Store extends QueueStore {
  /**
   * The target of that name, which begins to deliver. Settings make it or change it; without any it has to be there. Asked
   * for again, it is the same one until it is closed. Closing the store closes it.
   */
  target(name: string, options?: TargetOptions): Target;
}

/** Opens a store by its URL: `sqlite:PATH`, `postgres://user@host/db`, or `memory:`. */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  const store = await openQueues(url, options);
  const targets = new Map<string, Target>();
  return {
    ...store,
    target: (name, how) => {
      const open = targets.get(name);
      if (open !== undefined && !open.isClosed) return sameTarget(open, how);
      const target = new Target(store, name, how);
      targets.set(name, target);
      return target;
    },
    close: async () => {
      await Promise.all([...targets.values()].map((target) => target.close()));
      await store.close();
    },
  };
}

function sameTarget(target: Target, how: TargetOptions | undefined): Target {
  if (how === undefined) return target;
  throw new WorkError("usage", `The target ${target.name} is open already, with what it was opened with.`, {
    hint: "Take it as `store.target(name)`, change its settings with `target.change(…)`, or close it first.",
  });
}
