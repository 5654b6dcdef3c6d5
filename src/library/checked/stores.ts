/** Opens stores for library callers: an engine with its queues and receipt targets. */
import type { Engine } from "../../engine.ts";
import { type OpenOptions, openStore as openEngine } from "../../engines/open.ts";
import { RedriveError } from "../../errors.ts";
import { name } from "../../std/check-input.ts";
import { copyStore as copyUnchecked } from "../../store/copy.ts";
import { checkArguments, checked } from "./checked.ts";
import { checkedEngine } from "./checked-engine.ts";
import type { TargetOptions } from "./letter-limits.ts";
import { Queue } from "./queues.ts";
import { copyOptions, openOptions } from "./schemas.ts";
import { Target } from "./targets.ts";

/** An engine with the queues and targets of its store. */
export interface Store extends Engine {
  /** Returns the queue with this name, which need not exist yet. */
  queue(name: string): Queue;
  /**
   * Opens a target and starts delivering. Settings create or change the target; without settings it must exist. Further
   * calls return the same object until it is closed. Closing the store closes its targets.
   */
  target(name: string, options?: TargetOptions): Target;
}

/** Opens a store by its URL: `sqlite:PATH`, `postgres://user@host/db`, or `memory:`. */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  checkArguments([url, options], "openStore", { url: name, options: openOptions });
  const engine = await openEngine(url, options);
  const targets = new Map<string, Target>();
  return {
    ...checkedEngine(engine),
    queue: (queue) => new Queue(engine, queue),
    target: (target, how) => {
      const open = targets.get(target);
      if (open !== undefined && !open.isClosed) return sameTarget(open, how);
      const opened = new Target(engine, target, how);
      targets.set(target, opened);
      return opened;
    },
    close: async () => {
      await Promise.all([...targets.values()].map((target) => target.close()));
      await engine.close();
    },
  };
}

function sameTarget(target: Target, how: TargetOptions | undefined): Target {
  if (how === undefined) return target;
  throw new RedriveError("usage", `The target ${target.name} is already open with other options.`, {
    hint: "Call `store.target(name)` without options, change its settings with `target.change(…)`, or close it first.",
  });
}

/** Copies a store into an empty one, and compares both. */
export const copyStore = checked("copyStore", copyUnchecked, { options: copyOptions });
