/** Receipt targets of the library, with argument checks. */
import { type DrainReport, Target as UncheckedTarget } from "../../delivery/target.ts";
import { setTarget as setUnchecked } from "../../delivery/target-settings.ts";
import type { Engine } from "../../engine.ts";
import { name, parseInput } from "../../std/check-input.ts";
import {
  type ReceiptOptions,
  type ReceiptSettings,
  targetOptionsOf,
  targetSettingsOf,
} from "../receipt-options.ts";
import { type Duration, duration } from "../values.ts";
import { checkArguments, checked, checkMethods } from "./checked.ts";
import { withLetterService } from "./letter-limits.ts";
import * as s from "./schemas.ts";

/** A receipt target. It starts immediately and delivers until it is closed. */
export class Target extends UncheckedTarget {
  constructor(engine: Engine, target: string, given: ReceiptOptions = {}) {
    const options = targetOptionsOf(given);
    checkArguments([engine, target, options], "Target", { engine: s.engine, name, options: s.targetOptions });
    super(engine, target, withLetterService(engine, options));
  }

  /** Changes the given settings. They take effect immediately in this process and within seconds in others. */
  override async change(settings: ReceiptSettings): Promise<void> {
    await super.change(targetSettingsOf(settings));
  }

  /** Stops accepting receipts, delivers pending ones until the time is up, and closes the target. The rest stays stored. */
  override async drain(within?: Duration): Promise<DrainReport> {
    if (within === undefined) return super.drain();
    return super.drain(parseInput(duration, within, { caller: "target.drain", name: "within" }));
  }
}

checkMethods(Target, "target.", {
  send: { receipt: s.json, options: s.sendOptions.optional() },
  pause: { act: s.queueAct.optional() },
});

/** Creates the target or changes the given settings. Letters imported under this name then belong to the target. */
export const setTarget = checked("setTarget", setUnchecked, { engine: s.engine, name });
