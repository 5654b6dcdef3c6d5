/** Enforces the limits of dead letter queues for workers and jobs of library callers, as the CLI does for its own. */
import type { TargetOptions as DeliveryOptions } from "../../delivery/target.ts";
import type { Engine } from "../../engine.ts";
import type { WorkPlan as QueuePlan } from "../../queue/worker.ts";
import { type LimitSettings, limitsOf } from "../../redrive/limits.ts";
import type { RunDeps as JobDeps } from "../../run/run-job.ts";
import { letterRetention } from "../../service/letter-retention.ts";
import { queueMaintainer } from "../../service/queue-maintainer.ts";
import { scheduler } from "../../service/scheduler.ts";
import { type StartService, startServices } from "../../service/service.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { homeOf } from "../../store/home.ts";

/** The limits that a worker enforces on its dead letter queue. All options are optional. */
export interface LetterLimitOptions {
  /** The size and age limits. Letters beyond them are archived and deleted. Default: 10,000 letters, 30 days. */
  readonly limits?: LimitSettings;
  /** The folder for archives. Default: `REDRIVE_HOME`, or else `~/.redrive`. */
  readonly home?: string;
  /** Called with messages for people, for example about a nearly full dead letter queue. Default: a Node warning. */
  readonly onNotice?: (notice: string) => void;
}

/** The options of a target. Given settings create or change it; without settings the target must exist. */
export interface TargetOptions extends DeliveryOptions, LetterLimitOptions {}

/** The dependencies and limits of a running job. */
export interface RunDeps extends JobDeps, Pick<LetterLimitOptions, "limits"> {}

/** Replaces the limits in a worker's options by a service that enforces them. */
export function withLetterService<Options extends LetterLimitOptions & { readonly clock?: Clock }>(
  engine: Engine,
  options: Options,
): Omit<Options, keyof LetterLimitOptions> & Required<Pick<QueuePlan, "alongside">> {
  const { limits = {}, home = homeOf(process.env), onNotice, ...others } = options;
  const context = {
    engine,
    home,
    clock: options.clock ?? systemClock,
    onNotice: onNotice ?? ((notice: string) => process.emitWarning(notice, "RedriveWarning")),
  };
  const maintainer = queueMaintainer({ limits: limitsOf(limits), author: "library" });
  return { alongside: (job) => startServices([maintainer, scheduler()], job, context), ...others };
}

/** Returns the service that enforces the limits while a job runs. */
export function limitsOfJob(limits: LimitSettings = {}): StartService {
  return letterRetention({ limits: limitsOf(limits), author: "library" });
}
