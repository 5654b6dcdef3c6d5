/** Which of the options of a target are its settings, to be written to the store, and which are this process's own. Pure. */
import { compact } from "../item/failure.ts";
import type { TargetSettings } from "./settings.ts";
import type { TargetOptions } from "./target-options.ts";

/** Null when no setting is given: then the target is used as it is. */
export function splitOptions(options: TargetOptions): TargetSettings | null {
  const { deliver, isDelivering, concurrency, ownRate, onSettled, onPaused, onError, ...rest } = options;
  const { storeWaitMs, env, clock, toxicAfter, groupRules, alongside, ...settings } = rest;
  const given: TargetSettings = compact({
    ...settings,
    protocol: settings.protocol ?? (deliver === undefined ? undefined : "function"),
  });
  return Object.keys(given).length === 0 ? null : given;
}
