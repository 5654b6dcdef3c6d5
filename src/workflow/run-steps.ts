/** Runs workflow steps in order until one fails or the run is stopped. Phases, jobs and stores are unknown here. */
import { OutputWatch } from "../attempt/output-watch.ts";
import { compact } from "../std/json.ts";
import { takingTurns } from "../std/turns.ts";
import type { Step } from "./model.ts";
import { runStep } from "./run-step.ts";
import { maskerOf } from "./secrets.ts";
import {
  type At,
  type Run,
  type StepContext,
  type StepEnd,
  type StepsEnd,
  withDeadline,
} from "./step-context.ts";
import { brokenOff } from "./step-failure.ts";
import { stepLabel, stepName } from "./step-label.ts";
import { Scope } from "./step-variables.ts";

export interface RunStepsOptions {
  /** The index of the step to go on at. Default 0. */
  readonly from?: number;
  /** For all steps together; the failure names the step that ran when it was over. */
  readonly timeoutMs?: number | undefined;
  /** Told after each step of the list itself, with its index; the next begins when this has resolved. */
  readonly onDone?: (index: number, context: StepContext) => void | Promise<void>;
}

export async function runSteps(
  steps: readonly Step[],
  context: StepContext,
  options: RunStepsOptions = {},
): Promise<StepsEnd> {
  const run = openRun(context);
  const stopTicking = run.outputs.startTicking();
  try {
    return await withDeadline(topOf(run), options.timeoutMs, "the attempt", (at) =>
      runTop(steps, at, options),
    );
  } finally {
    stopTicking();
  }
}

function openRun(context: StepContext): Run {
  return {
    context,
    startedAt: context.clock.now(),
    outputs: new OutputWatch(),
    maskChunk: maskerOf(context.secretValues).maskChunk,
    inTurn: takingTurns(),
    fileCount: 0,
    usage: undefined,
    jsonLog: undefined,
    hasLog: false,
  };
}

function topOf(run: Run): At {
  const { variables, signal } = run.context;
  const scope = new Scope(variables);
  return { run, scope, signal, deadline: undefined, trail: [], path: [], label: "", name: "", runList };
}

async function runTop(
  steps: readonly Step[],
  at: At,
  { from = 0, onDone }: RunStepsOptions,
): Promise<StepsEnd> {
  const { run } = at;
  for (const [index, step] of steps.entries()) {
    if (index < from) continue;
    const here = placeOf(step, index, steps.length, at);
    run.context.onStep?.(index, steps.length, here.label);
    const end = at.signal.aborted ? brokenOff(here) : await runStep(step, here);
    if (end.kind === "failed") {
      const { failure, retryAfterMs, isAgent } = end;
      const { usage } = run;
      return compact({ kind: "failed" as const, failure, retryAfterMs, isAgent, stepIndex: index, usage });
    }
    if (end.kind === "stopped") return end;
    await onDone?.(index, run.context);
  }
  const log = run.hasLog ? run.context.logPath : undefined;
  return compact({ kind: "done" as const, usage: run.usage, jsonLog: run.jsonLog, log });
}

/** The steps inside of a step. Its output is that of the last. */
async function runList(steps: readonly Step[], at: At): Promise<StepEnd> {
  let end: StepEnd = { kind: "done" };
  for (const [index, step] of steps.entries()) {
    const here = placeOf(step, index, steps.length, at);
    end = at.signal.aborted ? brokenOff(here) : await runStep(step, here);
    if (end.kind !== "done") return end;
  }
  return end;
}

/** A list of one needs no numbers, unless it is the list itself. */
function placeOf(step: Step, index: number, total: number, at: At): At {
  const { mask } = at.run.context;
  const label = stepLabel(step, at.scope.all(), mask);
  const id = step.id === undefined ? "" : ` (${step.id})`;
  const isNumbered = at.path.length === 0 || total > 1;
  return {
    ...at,
    label,
    name: mask(stepName(step)),
    path: isNumbered ? [...at.path, `step ${index + 1}`] : at.path,
    trail: [...at.trail, `step ${index + 1} of ${total}${id}: ${label}`],
  };
}
