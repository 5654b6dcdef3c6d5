/** The limits of the dead letter queue for workers and jobs that a program runs: the same as for the commands. */
import type { Engine } from "../engine.ts";
import type { OpenCompanion } from "../job/companion.ts";
import { openCompanions } from "../job/companions.ts";
import { homeOf } from "../job/home.ts";
import { keeping } from "../job/keeper.ts";
import { tending } from "../job/tender.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import type { WorkPlan } from "../queue/worker.ts";
import { type LimitSettings, limitsOf } from "../redrive/limits.ts";
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

/** What looks after the letters beside a worker of the queue. */
export function letterService(
  engine: Engine,
  { limits = {}, home, onNotice, clock = systemClock }: LetterLimitOptions & { readonly clock?: Clock },
): NonNullable<WorkPlan["alongside"]> {
  const surroundings = {
    engine,
    home: home ?? homeOf(process.env),
    clock,
    onNotice: onNotice ?? ((notice: string) => process.emitWarning(notice, "RedriveWarning")),
  };
  return (job) =>
    openCompanions([tending({ limits: limitsOf(limits), author: "library" })], job, surroundings);
}

/** The same for a job that has an end. */
export function limitsOfJob(limits: LimitSettings = {}): OpenCompanion {
  return keeping({ limits: limitsOf(limits), author: "library" });
}
