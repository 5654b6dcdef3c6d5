/**
 * Argument schemas of the functions about named queues. Value ranges are checked with the settings
 * themselves.
 */
import { PRIORITIES } from "../item/item.ts";
import type { AddItemsOptions } from "../queue/add-items.ts";
import type { ImportItemsOptions, RowFields } from "../queue/import-items.ts";
import type { QueueAct } from "../queue/queue.ts";
import type { QueueSettings } from "../queue/queue-settings.ts";
import { UNIQUE_RULES } from "../queue/queue-spec.ts";
import { ITEM_FORMATS } from "../queue/read-rows.ts";
import { ITEM_FAILURE_ACTIONS, OUTAGE_ACTIONS } from "../retry/policy.ts";
import {
  callback,
  classRules,
  clock,
  count,
  durationMs,
  flag,
  groupRules,
  json,
  name,
  number,
  objectOf,
  oneOf,
  positive,
  rate,
  signal,
  text,
  thing,
} from "./common-schemas.ts";
import { LIMIT_OPTIONS } from "./letter-limits.ts";
import type { ProcessOptions, WorkPlan } from "./options.ts";
import { backoff, partialBreaker } from "./policy-schemas.ts";

export const queueSettings = objectOf<QueueSettings>({
  maxRetries: number.optional(),
  backoff: backoff.optional(),
  onItemFailure: oneOf(ITEM_FAILURE_ACTIONS.filter((action) => action !== "custom")).optional(),
  lossesMax: number.optional(),
  leaseMs: number.optional(),
  priority: oneOf(PRIORITIES).optional(),
  unique: oneOf(UNIQUE_RULES).optional(),
  schema: json.optional(),
  expiresAfterMs: number.nullish(),
  breaker: partialBreaker.nullish(),
  onOutage: oneOf(OUTAGE_ACTIONS).optional(),
  outageMsMax: number.nullish(),
  rate: rate.nullish(),
  description: text.nullish(),
});

export const addItemsOptions = objectOf<AddItemsOptions>({ author: text.optional() });

export const importItemsOptions = objectOf<ImportItemsOptions>({
  author: text.optional(),
  format: oneOf(ITEM_FORMATS).optional(),
  fields: objectOf<RowFields>({
    key: text.optional(),
    name: text.optional(),
    priority: text.optional(),
    due: text.optional(),
    expires: text.optional(),
    lane: text.optional(),
  }).optional(),
  isEnvelope: flag.optional(),
  isTyped: flag.optional(),
  isDry: flag.optional(),
  onRefused: callback.optional(),
  onProgress: callback.optional(),
  stdin: thing.optional(),
  signal: signal.optional(),
});

export const queueAct = objectOf<QueueAct>({ author: text.optional(), reason: text.optional() });

const worker = {
  concurrency: positive.optional(),
  rate: rate.optional(),
  untilEmpty: flag.optional(),
  name: name.optional(),
  evidenceFolder: name.optional(),
  signal: signal.optional(),
  abandonAfterMs: durationMs.optional(),
  storeWaitMs: durationMs.optional(),
  clock: clock.optional(),
  poisonAfter: count.optional(),
  groupRules: groupRules.optional(),
  classRules: classRules.optional(),
};

export const workerPlan = objectOf<WorkPlan>({
  ...worker,
  ...LIMIT_OPTIONS,
  alongside: callback.optional(),
  observer: thing.optional(),
  handler: callback,
  askHandler: callback.optional(),
  isTarget: flag.optional(),
});

export const processOptions = objectOf<ProcessOptions>({
  ...worker,
  ...LIMIT_OPTIONS,
  alongside: callback.optional(),
  timeoutMs: durationMs.optional(),
  onItemFailure: callback.optional(),
  onSettled: callback.optional(),
  onError: callback.optional(),
});
