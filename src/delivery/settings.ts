/**
 * Makes targets of receipts and changes what they are told. Settings are what people give, spec.ts is what the store keeps;
 * everything that can be wrong is found here, before anything is written.
 */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { compact } from "../item/failure.ts";
import type { Job } from "../item/job.ts";
import { requireTarget } from "../queue/find-queue.ts";
import {
  changedSettings,
  type QueueSettings,
  requireNumber,
  requireQueueName,
  specWith,
} from "../queue/settings.ts";
import { checkDelivery, type DeliverySettings } from "./check-delivery.ts";
import { DEFAULT_TARGET, receiptBackoff, type TargetSpec, targetSpecOf, targetSpecToJson } from "./spec.ts";

/** What a target is told. What is left out keeps its default, or what it was; null takes it away. */
export interface TargetSettings
  extends DeliverySettings,
    Pick<
      QueueSettings,
      "backoff" | "breaker" | "onOutage" | "outageMsMax" | "rate" | "leaseMs" | "lossesMax" | "description"
    > {
  /** How often a receipt is tried after the first try; 0 means once. Default 4. */
  readonly retries?: number;
  /** The waits are its powers in seconds. Default 2: 2, 4, 8 and 16 s. */
  readonly backoffBase?: number;
}

/** Makes the target, or changes what is given of the one that is there. Letters that were imported under the name become its own. */
export async function setTarget(engine: Engine, name: string, settings: TargetSettings = {}): Promise<Job> {
  requireQueueName(name);
  const found = await engine.findJob(name);
  if (found !== null) return change(engine, found, { name, settings });
  const spec = targetSpecToJson(await targetSpecWith(DEFAULT_TARGET, settings));
  try {
    return await engine.createJob({ id: name, name, kind: "target", spec });
  } catch (error) {
    const other = await engine.findJob(name); // another process was quicker
    if (other === null) throw error;
    return change(engine, other, { name, settings });
  }
}

/** Changes what is given and leaves the rest; one that changes nothing writes nothing. */
export async function changeTarget(engine: Engine, name: string, settings: TargetSettings): Promise<Job> {
  return change(engine, await requireTarget(engine, name), { name, settings });
}

interface Wanted {
  readonly name: string;
  readonly settings: TargetSettings;
}

async function change(engine: Engine, found: Job, { name, settings }: Wanted): Promise<Job> {
  if (found.kind === "imported" && found.id === name) {
    const spec = targetSpecToJson(await targetSpecWith(DEFAULT_TARGET, settings));
    const event = { type: "queue_created", data: { was: "imported" } } as const;
    return engine.changeJob(name, { kind: "target", status: "running", restarted: true, spec, event });
  }
  if (found.kind !== "target") throw taken(found, name);
  const before = targetSpecOf(found);
  const after = await targetSpecWith(before, settings);
  const changed = [
    ...changedSettings(withoutDelivery(before), withoutDelivery(after)),
    ...changedSettings(before.delivery as never, after.delivery as never),
  ].sort();
  if (changed.length === 0) return found;
  const event = { type: "queue_changed", data: { settings: changed } } as const;
  return engine.changeJob(found.id, { spec: targetSpecToJson(after), event });
}

function taken({ id, kind }: Job, name: string): WorkError {
  return new WorkError(
    "job_changed",
    `The name ${name} is taken by the ${kind === "queue" ? "queue" : `${kind} job`} ${id}.`,
    {
      hint: "Choose another name for the target.",
    },
  );
}

function withoutDelivery({ delivery: _, ...spec }: TargetSpec): Omit<TargetSpec, "delivery"> {
  return spec;
}

const BASE = { min: 0, max: 60 };

/** The settings that come of it; refuses what cannot be. */
export async function targetSpecWith(before: TargetSpec, settings: TargetSettings): Promise<TargetSpec> {
  const { retries, backoffBase, backoff, breaker, rate, leaseMs, lossesMax, description } = settings;
  const { onOutage, outageMsMax } = settings;
  if (backoffBase !== undefined) requireNumber("backoffBase", backoffBase, BASE);
  const curve = backoff ?? (backoffBase === undefined ? undefined : receiptBackoff(backoffBase));
  const queue = compact({
    maxRetries: retries,
    backoff: curve,
    breaker,
    onOutage,
    outageMsMax,
    rate,
    leaseMs,
    lossesMax,
    description,
  });
  const spec = await specWith(withoutDelivery(before), queue as QueueSettings);
  return { ...spec, delivery: checkDelivery(before.delivery, settings) };
}
