/** Runs a job with progress on the terminal and the commands' output on stdout, and prints the summary. */
import { WorkError } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import type { Outcome } from "../item/settlement.ts";
import { summaryToJson } from "../queue/job-summary.ts";
import type { AskMerge, RunDeps } from "../run/run-job.ts";
import type { OnPhaseWait, WorkflowResult } from "../run/workflow.ts";
import type { RunObserver } from "../runner/run-options.ts";
import { systemClock } from "../std/clock.ts";
import { type Finish, finishToJson } from "../workspace/workspace.ts";
import type { Context } from "./context.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { maintenanceOf } from "./maintenance.ts";
import { askYesNo, canAnswer } from "./prompt.ts";
import { CommandOutput } from "./render/command-output.ts";
import { openProgress, type PersonProgress } from "./render/job-progress.ts";
import { summaryText } from "./render/job-summary.ts";
import { type Interrupt, listenForInterrupts } from "./signals.ts";

export interface WatchOptions {
  readonly quiet?: boolean;
  readonly storeWaitMs?: number;
  /** Create the store if it does not exist: the command brings new work. */
  readonly creates?: boolean;
}

/** How the process ends: `run` leaves work that cannot be merged to the user, a retry of it reports it. */
export interface EndOptions {
  /** Exit with 5 when the work was to be merged and was not. Default false. */
  readonly requiresMerge?: boolean;
}

export interface Watch {
  readonly onJob: (job: Job) => void;
  readonly onOperation: (operation: Operation, job: Job) => void;
  readonly onNotice: (notice: string) => void;
  readonly onPhaseStep: (phase: string, index: number, total: number, label: string) => void;
  readonly onPhaseWait: OnPhaseWait;
  readonly onAgentStep: (item: LeasedItem, index: number, total: number, label: string) => void;
  /** Called at the end of a redrive with where its work went. */
  readonly onFinish: (finish: Finish) => void;
  /** Absent where nobody can answer. */
  readonly askMerge?: AskMerge;
}

type Run = (deps: RunDeps, watch: Watch) => Promise<WorkflowResult>;

/** For `map`, `run` and `resume`, which end with a summary. */
export async function runWithSummary(
  context: Context,
  options: WatchOptions & EndOptions,
  run: Run,
): Promise<number> {
  const { result, interrupt, ...end } = await withProgress(context, options, run);
  const { summary, finish } = result;
  if (context.isJson) {
    context.answer({ ...summaryToJson(summary), ...(finish && { merge: finishToJson(finish) }) }, () => "");
  } else {
    if (end.asked === undefined) showSummary(context, result, end.finished);
    if (finish?.note !== undefined) context.note(`\n${finish.note}`);
  }
  if (end.asked === "interrupted") return EXIT.interrupted;
  const isUnmerged = options.requiresMerge && finish?.isRefused;
  return interrupt.exitCode ?? (isUnmerged ? EXIT.refused : exitCodeOf(summary));
}

function showSummary(
  context: Context,
  { summary, stopReason }: Pick<WorkflowResult, "summary" | "stopReason">,
  finished: number | undefined,
): void {
  const text = summaryText(summary, {
    paint: context.paintNotes,
    columns: context.terminal.stderr.columns ?? Number.POSITIVE_INFINITY,
    ...(stopReason !== undefined && { stopReason }),
    ...(finished !== undefined && { finishedInRun: finished }),
  });
  context.note(text);
}

export interface Ended<T> {
  readonly result: T;
  readonly interrupt: Interrupt;
  /** How many items came to an end; undefined when nobody counted. */
  readonly finished: number | undefined;
  /** The result of merging a redrive's commits. */
  readonly finish: Finish;
  /** Whether a person was asked to agree to the merge; the summary was shown above the question. */
  readonly asked?: "answered" | "interrupted";
}

/** Runs with progress on stderr and the commands' output on stdout, and ends both in order. */
export async function withProgress<T>(
  context: Context,
  options: WatchOptions,
  run: (deps: RunDeps, watch: Watch) => Promise<T>,
): Promise<Ended<T>> {
  const { storeWaitMs } = options;
  const maintenance = await maintenanceOf(context);
  const opening = {
    ...(options.creates && { creates: true }),
    ...(storeWaitMs !== undefined && { busyMsMax: storeWaitMs }),
  };
  return context.withStore(async (engine) => {
    const progress = openProgress(context, engine, options);
    const output = new CommandOutput(
      context.terminal.stdout,
      options.quiet || context.isJson ? null : progress,
    );
    const interrupt = listenForInterrupts(
      () =>
        progress.note(
          "Stopping: running commands are stopped and their items released. Press Ctrl-C again to force.",
        ),
      () => progress.leave(),
    );
    let finish: Finish = {};
    let asked: Ended<T>["asked"];
    const askMerge: AskMerge = async (question, summary) => {
      await progress.stop(); // the live lines would write over the question
      if (summary && !context.isJson) {
        showSummary(context, { summary }, progress.finished);
        context.note("");
      }
      const answer = await answerOf(context, question);
      asked = answer === "interrupted" ? "interrupted" : "answered";
      return answer === "yes";
    };
    try {
      const observer = observe(progress, output);
      const deps = {
        engine,
        home: context.home,
        stop: interrupt.signal,
        clock: systemClock,
        observer,
        isOutputWanted: !options.quiet && !context.isJson,
        author: context.author,
        ...maintenance,
        ...(storeWaitMs !== undefined && { storeWaitMs }),
      };
      const result = await run(deps, {
        onJob: progress.onJob,
        onOperation: progress.onOperation,
        onNotice: progress.note,
        onPhaseStep: progress.onPhaseStep,
        onPhaseWait: progress.onPhaseWait,
        onAgentStep: progress.onAgentStep,
        onFinish: (end) => {
          finish = end;
        },
        ...(canAnswer(context) && { askMerge }),
      });
      return { result, interrupt, finished: progress.finished, finish, ...(asked && { asked }) };
    } finally {
      interrupt.dispose();
      await output.flushed();
      await progress.stop();
    }
  }, opening);
}

/** The job has completed: Ctrl-C declines the merge and ends the command, and nothing else. */
async function answerOf(context: Context, question: string): Promise<"yes" | "no" | "interrupted"> {
  try {
    return (await askYesNo(context, question)) ? "yes" : "no";
  } catch (error) {
    if (error instanceof WorkError && error.code === "interrupted") return "interrupted";
    throw error;
  }
}

function observe(progress: PersonProgress, output: CommandOutput): RunObserver {
  return {
    started: (item: LeasedItem, slot: number) => progress.observer.started?.(item, slot),
    settled: (item: LeasedItem, settlement: Settlement, outcome: Outcome) => {
      progress.observer.settled?.(item, settlement, outcome);
      if (outcome.kind === "succeeded") output.print(item, outcome);
    },
    ready: () => output.ready(),
    trouble: (error) => progress.observer.trouble?.(error),
    recovered: () => progress.observer.recovered?.(),
  };
}
