/** Runs a job with progress on stderr and the commands' output on stdout, and prints the summary, or the result of a redrive. */

import type { Engine } from "../engine.ts";
import { isError } from "../errors.ts";
import type { LeasedItem } from "../item/item.ts";
import { isStanding, type Job, STANDING_KINDS } from "../item/job.ts";
import { leftOf, type Operation, operationToJson } from "../item/operation.ts";
import { summaryToJson } from "../queue/job-summary.ts";
import { type Returned, returnedOf, returnedToJson } from "../redrive/canary.ts";
import { planOf } from "../redrive/plan.ts";
import { specOf } from "../run/map-spec.ts";
import type { OnPhaseWait } from "../run/phase-outages.ts";
import type { AskMerge, RunDeps } from "../run/run-job.ts";
import type { WorkflowResult } from "../run/workflow.ts";
import type { RunObserver } from "../runner/run-options.ts";
import { systemClock } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { titleToJson } from "../triage/title.ts";
import { laterPhases, workflowSpecOf } from "../workflow/workflow-spec.ts";
import { type Finish, finishToJson } from "../workspace/workspace.ts";
import type { Context } from "./context.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { maintenanceOf } from "./maintenance.ts";
import { CommandOutput } from "./render/command-output.ts";
import { summaryText } from "./render/job-summary.ts";
import { canaryText, redriveText } from "./render/operation.ts";
import { Progress, type ProgressWork, progressTerminal } from "./render/progress.ts";
import type { ProgressCounts } from "./render/progress-line.ts";
import { fit } from "./render/text.ts";
import { type Interrupt, listenForInterrupts } from "./signals.ts";

export interface WatchOptions {
  readonly quiet?: boolean;
  readonly storeWaitMs?: number;
  /** Creates a missing store, because the command adds new work. */
  readonly creates?: boolean;
}

export interface Watch {
  readonly onJob: (job: Job) => void;
  readonly onOperation: (operation: Operation, job: Job) => void;
  readonly onNotice: (notice: string) => void;
  readonly onPhaseStep: (phase: string, index: number, total: number, label: string) => void;
  readonly onPhaseWait: OnPhaseWait;
  readonly onAgentStep: (item: LeasedItem, index: number, total: number, label: string) => void;
  /** Called at the end of a redrive with the result of merging. */
  readonly onFinish: (finish: Finish) => void;
  /** Absent without a terminal. */
  readonly askMerge?: AskMerge;
}

/**
 * Runs `map`, `run` and `resume`. With `requiresMerge`, which only `resume` sets, unmerged work leads to exit code 5;
 * otherwise, merging it later is up to the user.
 */
export async function runWithSummary(
  context: Context,
  options: WatchOptions & { readonly requiresMerge?: boolean },
  run: (deps: RunDeps, watch: Watch) => Promise<WorkflowResult>,
): Promise<number> {
  const { result, interrupt, finished, asked } = await withProgress(context, options, run);
  const { summary, finish } = result;
  if (context.isJson) {
    context.answer({ ...summaryToJson(summary), ...(finish && { merge: finishToJson(finish) }) });
  } else {
    if (asked === undefined) showSummary(context, result, finished);
    if (finish?.note !== undefined) context.note(`\n${finish.note}`);
  }
  if (asked === "interrupted") return EXIT.interrupted;
  const isUnmerged = options.requiresMerge && finish?.isRefused;
  return interrupt.exitCode ?? (isUnmerged ? EXIT.refused : exitCodeOf(summary));
}

function showSummary(
  context: Context,
  { summary, stopReason }: Pick<WorkflowResult, "summary" | "stopReason">,
  finishedInRun: number | undefined,
): void {
  const { paintNotes: paint, terminal } = context;
  const columns = terminal.stderr.columns ?? Number.POSITIVE_INFINITY;
  context.note(summaryText(summary, { paint, columns, ...compact({ stopReason, finishedInRun }) }));
}

export interface Ended<T> {
  readonly result: T;
  readonly interrupt: Interrupt;
  /** The number of items that ended; undefined if nothing was counted. */
  readonly finished: number | undefined;
  /** The result of merging a redrive's commits. */
  readonly finish: Finish;
  /** Whether the user was asked to confirm the merge. The summary is printed before that question. */
  readonly asked: "answered" | "interrupted" | undefined;
}

const PHASE_COLUMNS_MAX = 200;

/** Runs work with progress on stderr and command output on stdout, and flushes both at the end. */
export async function withProgress<T>(
  context: Context,
  { quiet = false, storeWaitMs, creates = false }: WatchOptions,
  run: (deps: RunDeps, watch: Watch) => Promise<T>,
): Promise<Ended<T>> {
  const maintenance = await maintenanceOf(context);
  const isOutputWanted = !quiet && !context.isJson;
  const { stdout, stderr } = context.terminal;
  const work = async (engine: RunDeps["engine"]) => {
    const progress = new Progress(progressTerminal(context));
    const output = new CommandOutput(stdout, isOutputWanted ? progress : null);
    let running: Job | undefined;
    const interrupt = listenForInterrupts(
      () =>
        progress.note(
          "Stopping: running commands are ended and their items released. Press Ctrl-C again to force.",
        ),
      () => progress.leave(running ? `Ended. Resume the job: redrive resume ${running.id}` : "Ended."),
    );
    const begin = (job: Job, shown: ProgressWork | null) => {
      running = job;
      if (!quiet && shown) progress.begin(shown);
    };
    let finish: Finish = {};
    let asked: Ended<T>["asked"];
    const askMerge: AskMerge = async (question, summary) => {
      await progress.stop(); // live lines would overwrite the question
      if (summary && !context.isJson) {
        showSummary(context, { summary }, progress.finished);
        context.note("");
      }
      const answer = await answerOf(context, question);
      asked = answer === "interrupted" ? "interrupted" : "answered";
      return answer === "yes";
    };
    try {
      const { home, author } = context;
      const result = await run(
        {
          engine,
          home,
          author,
          stop: interrupt.signal,
          clock: systemClock,
          isOutputWanted,
          observer: observerOf(progress, output),
          ...maintenance,
          ...compact({ storeWaitMs }),
        },
        {
          onJob: (job) => begin(job, jobWork(engine, job)),
          onOperation: (operation, job) =>
            begin(job, operation.selected === 0 ? null : operationWork(engine, operation, job)),
          onNotice: (notice) => progress.note(notice),
          onPhaseStep: (phase, index, total, label) => {
            const line = `${phase} ${index + 1}/${total}: ${label}`;
            if (progress.finished !== undefined)
              progress.note(fit(line, (stderr.columns ?? PHASE_COLUMNS_MAX) - 1));
          },
          onPhaseWait: (failure, delayMs) => progress.wait(failure, delayMs),
          onAgentStep: (item, index, total, label) => progress.step(item, index, total, label),
          onFinish: (end) => {
            finish = end;
          },
          ...(context.canAnswer && { askMerge }),
        },
      );
      return { result, interrupt, finished: progress.finished, finish, asked };
    } finally {
      interrupt.dispose();
      await output.flushed();
      await progress.stop();
    }
  };
  return context.withStore(work, { creates, ...compact({ busyMsMax: storeWaitMs }) });
}

/** Asks about the merge. The job has already completed, so Ctrl-C only declines the merge and ends the command. */
async function answerOf(context: Context, question: string): Promise<"yes" | "no" | "interrupted"> {
  try {
    return (await context.ask(question)) ? "yes" : "no";
  } catch (error) {
    if (isError(error, "interrupted")) return "interrupted";
    throw error;
  }
}

function observerOf(progress: Progress, output: CommandOutput): RunObserver {
  return {
    started: (item, slot) => progress.started(item, slot),
    settled: (item, settlement, outcome) => {
      progress.settled(item, settlement, outcome);
      if (outcome.kind === "succeeded") output.print(item, outcome);
    },
    progress: (item, value) => progress.progress(item, value),
    ready: () => output.ready(),
    trouble: (error) => progress.trouble(error),
    recovered: () => progress.recovered(),
  };
}

export function jobWork(engine: Engine, job: Job): ProgressWork {
  return {
    ...limitsOf(job),
    count: () => engine.count(job.id),
    isTotalKnown: async () => (await engine.findJob(job.id))?.intakeComplete ?? false,
  };
}

export function operationWork(engine: Engine, operation: Operation, job: Job): ProgressWork {
  const { slots, maxRetries } = planOf(operation);
  return {
    ...limitsOf(job),
    ...(slots !== undefined && { slots }),
    ...(maxRetries !== undefined && { attemptsMax: maxRetries + 1 }),
    count: () => countOperation(engine, operation),
  };
}

function limitsOf(job: Job): Pick<ProgressWork, "slots" | "attemptsMax" | "label"> {
  const { policy, slots } =
    job.kind === "workflow"
      ? { policy: workflowSpecOf(job).workflow.policy, slots: workflowSpecOf(job).workflow.map.maxParallel }
      : { policy: specOf(job).policy, slots: specOf(job).jobs };
  return { slots: isStanding(job) ? 0 : slots, attemptsMax: policy.maxAttempts, label: job.name };
}

/** Counts the letters of an operation. Refused letters count as dead, like letters that failed again. */
async function countOperation(engine: Engine, begun: Operation): Promise<ProgressCounts> {
  const operation = (await engine.findOperation(begun.id)) ?? begun;
  const { selected, succeeded, failed, refused } = operation;
  const leased = Math.min(leftOf(operation), (await engine.count(begun.queue)).leased);
  const ready = leftOf(operation) - leased;
  return { total: selected, ready, leased, held: 0, done: succeeded, dead: failed + refused, skipped: 0 };
}

export interface Redriven {
  readonly operation: Operation;
  readonly job: Job;
  /** The result of merging a workflow's commits. Default: nothing was run. */
  readonly finish?: Finish;
  /** Named items that do not exist. Default: none. */
  readonly unknown?: readonly string[];
}

/** Runs `dlq retry` and `ops resume`, whose results are the counts of an operation. */
export async function runRedrive(
  context: Context,
  options: WatchOptions,
  run: (deps: RunDeps, watch: Watch) => Promise<Redriven>,
): Promise<number> {
  const { result, interrupt, finish, asked } = await withProgress(context, options, run);
  const code = answerRedriven(context, { ...result, finish });
  return interrupt.exitCode ?? (asked === "interrupted" ? EXIT.interrupted : code);
}

export function answerRedriven(context: Context, redriven: Redriven, more: JsonObject = {}): number {
  const { operation, job, finish, unknown = [] } = redriven;
  const returned = returnedOf(operation);
  const document = {
    ...operationToJson(operation),
    ...(returned && stoppedToJson(returned)),
    ...(finish && job.kind === "workflow" && { merge: finishToJson(finish) }),
    ...unknownToJson(unknown),
    ...more,
  };
  context.answer(document, () => redriveText(operation, { hasWorkers: STANDING_KINDS.includes(job.kind) }));
  const stopped = canaryText(operation);
  if (stopped !== null) context.note(stopped);
  const later = laterPhases(job);
  const isAwaitingResume = finish?.isRefused && job.status !== "completed"; // a resume will run the later phases
  if (operation.succeeded > 0 && later.length > 0 && !isAwaitingResume) {
    context.note(`Skipped: ${later.join(" and ")}. To run: redrive resume ${job.id} --no-dlq`);
  }
  const isStopped = finish !== undefined && leftOf(operation) > 0 && !STANDING_KINDS.includes(job.kind);
  if (isStopped) return EXIT.failed; // by a budget, for example; no other process runs the rest
  if (finish?.isRefused) return EXIT.refused;
  return operation.failed + operation.refused > 0 ? EXIT.lettersLeft : EXIT.done;
}

function stoppedToJson(returned: Returned): JsonObject {
  const { stopped_by } = returnedToJson(returned);
  const title = returned.pattern === undefined ? {} : titleToJson(returned.pattern);
  return { stopped_by: { ...stopped_by, ...title } };
}

export function unknownToJson(unknown: readonly string[]): JsonObject {
  return unknown.length === 0 ? {} : { unknown_items: unknown };
}
