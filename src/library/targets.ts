/** Receipt targets for library callers, with argument checks. */

import { Target as UncheckedTarget } from "../delivery/target.ts";
import {
  type KeptReceipt,
  type Receipt,
  type SendOptions,
  setTarget as setUnchecked,
  type TargetSettings,
} from "../delivery/target-settings.ts";
import type { Engine } from "../engine.ts";
import { checkInput } from "./check-input.ts";
import { checked } from "./checked.ts";
import { durationMs, json, name, store } from "./common-schemas.ts";
import { letterService } from "./letter-limits.ts";
import type { TargetOptions } from "./options.ts";
import { queueAct } from "./queue-schemas.ts";
import { sendOptions, targetOptions, targetSettings } from "./target-schemas.ts";

/** A receipt target. It starts immediately and delivers until it is closed. */
export class Target extends UncheckedTarget {
  constructor(engine: Engine, target: string, options: TargetOptions = {}) {
    checkInput(store, engine, { caller: "Target", name: "engine" });
    checkInput(name, target, { caller: "Target", name: "name" });
    checkInput(targetOptions, options, { caller: "Target", name: "options" });
    const { limits: _, home: __, onNotice: ___, ...settings } = options;
    super(engine, target, { alongside: letterService(engine, options), ...settings });
  }

  override send(receipt: Receipt, options?: SendOptions & { readonly wait?: true }): Promise<boolean>;
  override send(receipt: Receipt, options: SendOptions & { readonly wait: false }): Promise<KeptReceipt>;
  override async send(receipt: Receipt, options: SendOptions = {}): Promise<boolean | KeptReceipt> {
    checkInput(json, receipt, { caller: "target.send", name: "receipt" });
    checkInput(sendOptions, options, { caller: "target.send", name: "options" });
    return options.wait === false
      ? super.send(receipt, { ...options, wait: false })
      : super.send(receipt, { ...options, wait: true });
  }

  override async change(settings: TargetSettings): Promise<void> {
    checkInput(targetSettings, settings, { caller: "target.change", name: "settings" });
    return super.change(settings);
  }

  override async pause(act: { author?: string; reason?: string } = {}): Promise<void> {
    checkInput(queueAct, act, { caller: "target.pause", name: "act" });
    return super.pause(act);
  }

  override drain(withinMs?: number): ReturnType<UncheckedTarget["drain"]> {
    checkInput(durationMs.optional(), withinMs, { caller: "target.drain", name: "withinMs" });
    return super.drain(withinMs);
  }
}

/** Creates the target or changes the given settings. Letters imported under the name become the target's. */
export const setTarget = checked(setUnchecked, "setTarget", [
  ["engine", store],
  ["name", name],
  ["settings", targetSettings.optional()],
]);
