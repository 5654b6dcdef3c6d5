/** Progress of a job whose id is known only once it has begun; before that, notes go to stderr as they are. */
import type { Engine } from "../../engine.ts";
import type { LeasedItem } from "../../item/item.ts";
import { isStanding, type Job } from "../../item/job.ts";
import { leftOf, type Operation } from "../../item/operation.ts";
import { planOf } from "../../redrive/plan.ts";
import type { Policy } from "../../retry/policy.ts";
import { specOf } from "../../run/map-spec.ts";
import type { OnPhaseWait } from "../../run/workflow.ts";
import type { RunObserver } from "../../runner/run-options.ts";
import { systemClock } from "../../std/clock.ts";
import { workflowSpecOf } from "../../workflow/workflow-spec.ts";
import type { Context } from "../context.ts";
import { canRedraw, fit } from "./paint.ts";
import { type Progress, type ProgressOptions, startProgress } from "./progress.ts";
import type { ProgressCounts } from "./progress-line.ts";

export interface PersonProgress {
  readonly observer: RunObserver;
  readonly onJob: (job: Job) => void;
  /** The same for a redrive: what is counted are its letters. */
  readonly onOperation: (operation: Operation, job: Job) => void;
  readonly note: (text: string) => void;
  /** Which step of setup, reduce or merge begins. */
  readonly onPhaseStep: (phase: string, index: number, total: number, label: string) => void;
  /** Why setup, reduce or merge waits, and for how long. */
  readonly onPhaseWait: OnPhaseWait;
  /** Which step an agent begins. */
  readonly onAgentStep: (item: LeasedItem, index: number, total: number, label: string) => void;
  /** How many items came to an end in this run; undefined when nobody counted. */
  readonly finished: number | undefined;
  /** Writes to the same terminal without disturbing the live lines. */
  suspend(write: () => void, endsLine: boolean): void;
  stop(): Promise<void>;
  /** The process ends at once: removes the live lines and prints how to resume. */
  leave(): void;
}

export function openProgress(
  context: Context,
  engine: Engine,
  options: { readonly quiet?: boolean },
): PersonProgress {
  let progress: Progress | null = null;
  let running: Job | undefined;
  const { env, stdout, stderr } = context.terminal;
  const screen = {
    stderr,
    isLive: canRedraw({ isTty: stderr.isTTY ?? false, env }),
    columns: () => stderr.columns ?? 80,
    paint: context.paintNotes,
    clock: systemClock,
  };
  return {
    get observer() {
      return progress ?? {};
    },
    get finished() {
      return progress?.finished;
    },
    onJob: (job) => {
      running = job;
      if (options.quiet) return;
      progress = startProgress({
        ...screen,
        ...manner(job),
        count: () => engine.count(job.id),
        isTotalKnown: async () => (await engine.findJob(job.id))?.intakeComplete ?? false,
      });
    },
    onOperation: (operation, job) => {
      running = job;
      if (options.quiet || operation.selected === 0) return;
      const { slots, maxRetries } = planOf(operation);
      progress = startProgress({
        ...screen,
        ...manner(job),
        ...(slots !== undefined && { slots }),
        ...(maxRetries !== undefined && { attemptsMax: maxRetries + 1 }),
        count: () => countOperation(engine, operation),
      });
    },
    note: (text) => (progress ? progress.note(text) : context.note(text)),
    onPhaseStep: (phase, index, total, label) =>
      progress?.note(
        fit(`${phase} ${index + 1}/${total}: ${label}`, (stderr.columns ?? PHASE_COLUMNS_MAX) - 1),
      ),
    onPhaseWait: (failure, delayMs) => progress?.wait(failure, delayMs),
    onAgentStep: (item, index, total, label) => progress?.step(item, index, total, label),
    suspend: (write, endsLine) => (progress && stdout.isTTY ? progress.suspend(write, endsLine) : write()),
    stop: async () => progress?.stop(),
    leave: () => {
      const text = running === undefined ? "Ended." : `Ended. Resume the job: redrive resume ${running.id}`;
      if (progress) progress.leave(text);
      else context.note(text);
    },
  };
}

/** Where nobody says how wide the lines are. */
const PHASE_COLUMNS_MAX = 200;

function manner(job: Job): Pick<ProgressOptions, "slots" | "attemptsMax" | "label"> {
  return { slots: slotsOf(job), attemptsMax: policyOf(job).maxAttempts, label: job.name };
}

/** What was refused stays dead, like what failed again. */
async function countOperation(engine: Engine, begun: Operation): Promise<ProgressCounts> {
  const operation = (await engine.findOperation(begun.id)) ?? begun;
  const { selected, succeeded, failed, refused } = operation;
  const leased = Math.min(leftOf(operation), (await engine.count(begun.queue)).leased);
  const ready = leftOf(operation) - leased;
  return { total: selected, ready, leased, held: 0, done: succeeded, dead: failed + refused, skipped: 0 };
}

function policyOf(job: Job): Policy {
  return job.kind === "workflow" ? workflowSpecOf(job).workflow.policy : specOf(job).policy;
}

function slotsOf(job: Job): number {
  if (isStanding(job)) return 0; // what runs, runs elsewhere
  return job.kind === "workflow" ? workflowSpecOf(job).workflow.map.maxParallel : specOf(job).jobs;
}
