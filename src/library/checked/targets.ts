/** Receipt targets of the library, with argument checks. */
import { Target as UncheckedTarget } from "../../delivery/target.ts";
import { setTarget as setUnchecked } from "../../delivery/target-settings.ts";
import type { Engine } from "../../engine.ts";
import { durationMs, name } from "../../std/check-input.ts";
import { checkArguments, checked, checkMethods } from "./checked.ts";
import { type TargetOptions, withLetterService } from "./letter-limits.ts";
import * as s from "./schemas.ts";

/** A receipt target. It starts immediately and delivers until it is closed. */
export class Target extends UncheckedTarget {
  constructor(engine: Engine, target: string, options: TargetOptions = {}) {
    checkArguments([engine, target, options], "Target", { engine: s.engine, name, options: s.targetOptions });
    super(engine, target, withLetterService(engine, options));
  }
}

checkMethods(Target, "target.", {
  send: { receipt: s.json, options: s.sendOptions.optional() },
  pause: { act: s.queueAct.optional() },
  drain: { withinMs: durationMs.optional() },
});

/** Creates the target or changes the given settings. Letters imported under this name then belong to the target. */
export const setTarget = checked("setTarget", setUnchecked, { engine: s.engine, name });
