/**
 * Enforces the limits of dead letter queues for workers and jobs started by library callers, as the commands
 * do.
 */
import type { Engine } from "../engine.ts";
import type { WorkPlan } from "../queue/worker.ts";
import { type LimitSettings, limitsOf } from "../redrive/limits.ts";
import { letterRetention } from "../service/letter-retention.ts";
import { queueMaintainer } from "../service/queue-maintainer.ts";
import { type StartService, startServices } from "../service/service.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { homeOf } from "../store/home.ts";
import { callback, count, name, number, objectOf } from "./common-schemas.ts";
import type { LetterLimitOptions } from "./options.ts";

export const limitSettings = objectOf<LimitSettings>({
  maxItems: count.nullish(),
  retentionDays: number.nullish(),
});

/** To be spread into a schema. */
export const LIMIT_OPTIONS = {
  limits: limitSettings.optional(),
  home: name.optional(),
  onNotice: callback.optional(),
};

/** The services that run beside a worker of the queue. */
export function letterService(
  engine: Engine,
  { limits = {}, home, onNotice, clock = systemClock }: LetterLimitOptions & { readonly clock?: Clock },
): NonNullable<WorkPlan["alongside"]> {
  const context = {
    engine,
    home: home ?? homeOf(process.env),
    clock,
    onNotice: onNotice ?? ((notice: string) => process.emitWarning(notice, "RedriveWarning")),
  };
  return (job) =>
    startServices([queueMaintainer({ limits: limitsOf(limits), author: "library" })], job, context);
}

/** The service that enforces the limits while a job runs. */
export function limitsOfJob(limits: LimitSettings = {}): StartService {
  return letterRetention({ limits: limitsOf(limits), author: "library" });
}
