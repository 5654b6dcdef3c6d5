/** Runs a job with what a person sees of it: progress, the commands' output, the summary; then the exit code. */

import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import type { Outcome } from "../item/outcome.ts";
import type { RunDeps } from "../job/run-job.ts";
import { summaryToJson } from "../job/summary.ts";
import type { WorkflowResult } from "../job/workflow.ts";
import { systemClock } from "../kit/clock.ts";
import { parseDuration } from "../kit/duration.ts";
import type { RunObserver } from "../runner/runner.ts";
import { canAnswer, saysYes } from "./ask.ts";
import { authorOf } from "./author.ts";
import { CommandOutput } from "./command-output.ts";
import type { Context } from "./context.ts";
import { exitCodeOf } from "./exit-code.ts";
import { type Interrupt, listenForInterrupts } from "./interrupt.ts";
import { lookingAfter } from "./looking-after.ts";
import { openProgress, type PersonProgress } from "./person-progress.ts";
import { summaryText } from "./summary-text.ts";

export interface WatchOptions {
  readonly quiet?: boolean;
  readonly storeWait?: string;
  /** Create the store if it does not exist: the command brings new work. */
  readonly creates?: boolean;
}

export interface Watch {
  readonly onJob: (job: Job) => void;
  readonly onOperation: (operation: Operation, job: Job) => void;
  readonly onNotice: (notice: string) => void;
  readonly onPhaseStep: (phase: string, index: number, total: number, label: string) => void;
  readonly onAgentStep: (item: LeasedItem, index: number, total: number, label: string) => void;
  /** Absent where nobody can answer. */
  readonly askMerge?: (question: string) => Promise<boolean>;
}

type Run = (deps: RunDeps, watch: Watch) => Promise<WorkflowResult>;

/** For `map`, `run` and `resume`, which end with a summary. */
export async function runForPerson(context: Context, options: WatchOptions, run: Run): Promise<number> {
  const { result, interrupt, finished } = await withProgress(context, options, run);
  const { summary, stopReason, finish } = result;
  if (context.isJson) context.answer(summaryToJson(summary), () => "");
  else {
    const text = summaryText(summary, {
      paint: context.paintNotes,
      columns: context.terminal.stderr.columns ?? 100,
      ...(stopReason !== undefined && { stopReason }),
      ...(finished !== undefined && { finishedInRun: finished }),
    });
    context.note(text);
    if (finish?.note !== undefined) context.note(`\n${finish.note}`);
  }
  return interrupt.exitCode ?? exitCodeOf(summary);
}

/** Runs with progress on stderr and the commands' output on stdout, and ends both in order. */
export async function withProgress<T>(
  context: Context,
  options: WatchOptions,
  run: (deps: RunDeps, watch: Watch) => Promise<T>,
): Promise<{ result: T; interrupt: Interrupt; finished: number | undefined }> {
  const storeWaitMs =
    options.storeWait === undefined ? undefined : parseDuration(options.storeWait, "--store-wait");
  const letters = await lookingAfter(context);
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
    const interrupt = listenForInterrupts(() =>
      progress.note("Stopping: running commands are ended and their items given back. Again to force."),
    );
    try {
      const observer = observe(progress, output);
      const deps = {
        engine,
        home: context.home,
        stop: interrupt.signal,
        clock: systemClock,
        observer,
        isOutputWanted: !options.quiet && !context.isJson,
        author: authorOf(context.terminal.env),
        ...letters,
        ...(storeWaitMs !== undefined && { storeWaitMs }),
      };
      const result = await run(deps, {
        onJob: progress.onJob,
        onOperation: progress.onOperation,
        onNotice: progress.note,
        onPhaseStep: progress.onPhaseStep,
        onAgentStep: progress.onAgentStep,
        ...(canAnswer(context) && { askMerge: (question) => askAtEnd(context, progress, question) }),
      });
      return { result, interrupt, finished: progress.finished };
    } finally {
      interrupt.dispose();
      await output.flushed();
      await progress.stop();
    }
  }, opening);
}

/** Nothing runs any more, and the live lines would write over the question. */
async function askAtEnd(context: Context, progress: PersonProgress, question: string): Promise<boolean> {
  await progress.stop();
  return saysYes(context, question);
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
