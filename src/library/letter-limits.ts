/** Enforces the limits of dead letter queues for workers and jobs that library callers start, as the commands do. */
import type { TargetOptions as DeliveryOptions } from "../delivery/target.ts";
import type { Engine } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { WorkPlan as QueuePlan, WorkerOptions } from "../queue/worker.ts";
import { type LimitSettings, limitsOf } from "../redrive/limits.ts";
import type { RunDeps as JobDeps } from "../run/run-job.ts";
import { letterRetention } from "../service/letter-retention.ts";
import { queueMaintainer } from "../service/queue-maintainer.ts";
import { type StartService, startServices } from "../service/service.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { homeOf } from "../store/home.ts";

/** The limits of a dead letter queue while a worker runs. All options are optional. */
export interface LetterLimitOptions {
  /** The size and age limits. Letters beyond them are archived and deleted. Default: 10,000 letters, 30 days. */
  readonly limits?: LimitSettings;
  /** The folder for archives. Default: `REDRIVE_HOME`, or else `~/.redrive`. */
  readonly home?: string;
  /** Called with notices for a person, for example about a nearly full dead letter queue. Default: a Node warning. */
  readonly onNotice?: (notice: string) => void;
}

/** The options of `queue.process`. All of them are optional. */
export interface ProcessOptions
  extends Omit<WorkerOptions, "observer">,
    Pick<QueuePlan, "alongside">,
    LetterLimitOptions {
  /** An attempt that takes longer fails; its signal is aborted. Default: no limit. */
  readonly timeoutMs?: number;
  /** Called after every attempt, once the store has its end. */
  readonly onSettled?: (item: LeasedItem, settlement: Settlement) => void;
  /** Called when the store does not answer, and when the worker ended because it could not continue. */
  readonly onError?: (error: unknown) => void;
}

/** The handler and options of a worker. */
export interface WorkPlan extends QueuePlan, LetterLimitOptions {}

/** The options of a target. Given settings create or change it; without settings the target must exist. */
export interface TargetOptions extends DeliveryOptions, LetterLimitOptions {}

/** What a job runs with. */
export interface RunDeps extends JobDeps, Pick<LetterLimitOptions, "limits"> {}

/** The options of a worker without the limits, which become a service beside it. */
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
  return { alongside: (job) => startServices([maintainer], job, context), ...others };
}

/** The service that enforces the limits while a job runs. */
export function limitsOfJob(limits: LimitSettings = {}): StartService {
  return letterRetention({ limits: limitsOf(limits), author: "library" });
}
