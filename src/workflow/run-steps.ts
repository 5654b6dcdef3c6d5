/** Runs workflow steps in order, with all their options, until one fails or the run stops. Does not use jobs or the store. */
import { OutputWatch } from "../attempt/output-watch.ts";
import { backoffMs } from "../retry/backoff.ts";
import { compileExpression } from "../std/expression.ts";
import { compact } from "../std/json.ts";
import { rememberedLinear } from "../std/pattern.ts";
import { takingTurns } from "../std/turns.ts";
import { rememberFailure, runAction } from "./continue-session.ts";
import { foreachStep } from "./foreach.ts";
import { gitVariablesFor, nameStep } from "./git-variables.ts";
import type { FailureHandler, Step } from "./model.ts";
import type { Ran } from "./run-program.ts";
import { maskerOf } from "./secrets.ts";
import {
  type At,
  inside,
  isTurnedAway,
  type Run,
  type StepContext,
  type StepEnd,
  type StepFailed,
  type StepsEnd,
  withDeadline,
} from "./step-context.ts";
import { stepLabel, stepName } from "./step-label.ts";
import { brokenOff, hopeless, logLine, ruleFailure, thrownFailure } from "./step-record.ts";
import { recordResult, recordSkipped, tailOf } from "./step-results.ts";
import {
  captureValue,
  errorVariable,
  Scope,
  tooLarge,
  VALUE_BYTES_MAX,
  withoutLineEnd,
} from "./step-variables.ts";
import { forgetResult, validateStep } from "./validate-step.ts";
import { expand, isUsageError, naming } from "./variables.ts";
import { writeFileStep, writeInside } from "./write-file.ts";

export interface RunStepsOptions {
  /** The index of the first step to run. Default 0. */
  readonly from?: number;
  /** The path of the steps for titles and logs, e.g. `["on_conflict"]`. Default: the top level. */
  readonly path?: readonly string[];
  /** Time limit for all steps together. The failure names the step that was running at the timeout. */
  readonly timeoutMs?: number | undefined;
  /** What the limit applies to, for the failure message. Default `the attempt`. */
  readonly what?: string;
  /** Called after each top-level step with its index. The next step starts when the returned promise has resolved. */
  readonly onDone?: (index: number, context: StepContext) => void | Promise<void>;
}

export async function runSteps(
  steps: readonly Step[],
  context: StepContext,
  options: RunStepsOptions = {},
): Promise<StepsEnd> {
  const { variables, signal } = context;
  const run: Run = {
    context,
    startedAt: context.clock.now(),
    outputs: new OutputWatch(),
    maskChunk: maskerOf(context.secretValues).maskChunk,
    git: gitVariablesFor(steps, context),
    inTurn: takingTurns(),
    fileCount: 0,
    sessions: new Map(context.earlier?.areLost ? [] : context.earlier?.sessions),
    notes: [],
    usage: undefined,
    jsonLog: undefined,
    hasLog: false,
  };
  const { path = [] } = options;
  const top = { deadline: undefined, trail: [...path], path, label: "", name: "", runList };
  const at: At = { run, scope: new Scope(variables), signal, ...top };
  const stopTicking = run.outputs.startTicking();
  try {
    return await withDeadline(at, options.timeoutMs, options.what ?? "the attempt", (limited) =>
      runTop(steps, limited, options),
    );
  } finally {
    stopTicking();
  }
}

async function runTop(
  steps: readonly Step[],
  at: At,
  { from = 0, onDone }: RunStepsOptions,
): Promise<StepsEnd> {
  const { run } = at;
  await run.git?.begin(at.scope);
  for (const [index, step] of steps.entries()) {
    if (index < from) continue;
    const here = stepAt(step, index, steps.length, at);
    run.context.onStep?.(index, steps.length, here.label);
    nameStep(at.scope, step.name ?? here.name, index);
    const end = at.signal.aborted ? brokenOff(here) : await runStep(step, here);
    if (end.kind === "failed") {
      const { failure, retryAfterMs, isAgent } = end;
      const { usage } = run;
      return compact({ kind: "failed" as const, failure, retryAfterMs, isAgent, stepIndex: index, usage });
    }
    if (end.kind === "stopped") return compact({ ...end, usage: run.usage });
    await onDone?.(index, run.context);
  }
  const log = run.hasLog ? run.context.logPath : undefined;
  return compact({ kind: "done" as const, usage: run.usage, jsonLog: run.jsonLog, log });
}

/** Runs the steps nested in a step. Their output is the output of the last one. */
async function runList(steps: readonly Step[], at: At): Promise<StepEnd> {
  let end: StepEnd = { kind: "done" };
  for (const [index, step] of steps.entries()) {
    const here = stepAt(step, index, steps.length, at);
    end = at.signal.aborted ? brokenOff(here) : await runStep(step, here);
    if (end.kind !== "done") return end;
  }
  return end;
}

/** Returns the context of a step. A nested list with a single step is not numbered. */
function stepAt(step: Step, index: number, total: number, at: At): At {
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

async function runStep(step: Step, at: At): Promise<StepEnd> {
  const wanted = isWanted(step, at);
  if (typeof wanted !== "boolean") return wanted;
  if (!wanted) {
    await logLine(at, "skipped");
    recordSkipped(step, at);
    return { kind: "done" };
  }
  const head = await headNow(step, at);
  if (typeof head === "object") return head;
  const end = await tryUntilDone(step, at, head);
  if (end.kind === "failed" && step.onFailure && !isTurnedAway(end)) {
    return handleFailure(step, step.onFailure, end, at, head);
  }
  return end.kind === "done" ? goOn(step, end, at) : end;
}

function isWanted({ when }: Step, at: At): boolean | StepFailed {
  if (when === undefined) return true;
  const all = at.scope.all();
  const variables = { ...all, vars: all };
  const compiled = compileExpression(when, new Map(Object.keys(variables).map((name) => [name, "any"])));
  const answer = compiled.ok ? compiled.evaluate(variables) : compiled;
  return answer.ok ? answer.value : hopeless(at, `when "${when}": ${answer.message}`);
}

/** Reads HEAD before the step, so that earlier commits do not count for `commit_required` and `${step.commits}`. */
async function headNow(step: Step, at: At): Promise<string | undefined | StepFailed> {
  const { head } = at.run.context;
  if (!step.commitRequired && !(at.run.git && head)) return undefined;
  if (!head) return hopeless(at, "commit_required needs a git repository, and this folder is not in one");
  try {
    return await head();
  } catch (error) {
    return thrownFailure(at, "WorktreeError", "HEAD could not be read", error);
  }
}

async function tryUntilDone(step: Step, at: At, head: string | undefined): Promise<StepEnd> {
  if (!step.retry) return tryStep(step, at, head);
  const { maxAttempts, backoff, budgetMs } = step.retry;
  const startedAt = at.run.context.clock.monotonicNow();
  for (let attempt = 1; ; attempt++) {
    const path = attempt === 1 ? at : inside(at, `attempt ${attempt}`);
    const trail = [...at.trail, `attempt ${attempt} of ${maxAttempts}`];
    const end = await tryStep(step, { ...path, trail }, head);
    if (end.kind !== "failed" || end.isHopeless || attempt >= maxAttempts || at.signal.aborted) return end;
    if (!isRetried(end, step.retry.on)) return end;
    const delayMs = backoffMs(backoff, attempt, at.run.context.random);
    if (budgetMs !== undefined && at.run.context.clock.monotonicNow() + delayMs - startedAt > budgetMs)
      return end;
    // A longer requested wait is left to the runner, which can run other items in the meantime.
    if (end.retryAfterMs !== undefined && end.retryAfterMs > delayMs) return end;
    await at.run.context.clock.sleep(delayMs, at.signal);
    if (at.signal.aborted) return brokenOff(at);
  }
}

function isRetried({ failure }: StepFailed, patterns: readonly string[] | undefined): boolean {
  if (patterns === undefined) return true;
  const text = `${failure.errorType.name} ${failure.errorMessage} ${failure.stderrTail ?? ""}`;
  return patterns.some((pattern) => rememberedLinear(pattern)(text));
}

/** Runs the handler and then the step again, up to `maxAttempts` times. The last result of the step counts. */
async function handleFailure(
  step: Step,
  handler: FailureHandler,
  first: StepFailed,
  at: At,
  head: string | undefined,
): Promise<StepEnd> {
  let last = first;
  for (let round = 1; round <= Math.max(1, handler.maxAttempts) && !at.signal.aborted; round++) {
    captureFailed(step, last, at);
    const path = handler.maxAttempts > 1 ? `on_failure ${round}` : "on_failure";
    const scope = at.scope.with({ error: errorVariable(last.failure) });
    const handled = await withDeadline({ ...inside(at, path), scope }, handler.timeoutMs, path, (limited) =>
      at.runList(handler.steps, limited),
    );
    if (handled.kind === "stopped" || (handled.kind === "failed" && isTurnedAway(handled))) return handled;
    if (handled.kind === "failed") {
      const note = `its on_failure steps failed too: ${handled.failure.errorMessage}`;
      const errorContext = [...(last.failure.errorContext ?? []), note];
      last = { ...last, failure: { ...last.failure, errorContext } };
      if (handler.isFailureFatal) return last;
      break;
    }
    if (handler.maxAttempts === 0) break;
    const why = `run again after on_failure, ${round} of ${handler.maxAttempts}`;
    const again = await tryStep(step, inside(at, `again ${round}`, why), head);
    if (again.kind === "done") return goOn(step, again, at);
    if (again.kind === "stopped") return again;
    last = again;
  }
  captureFailed(step, last, at);
  return handler.failWorkflow || at.signal.aborted ? last : { kind: "done" };
}

/** Stores the output of the failed step for its handler, and for later steps if the failure is ignored. */
function captureFailed({ capture }: Step, { output = "" }: StepFailed, { scope }: At): void {
  if (capture === undefined) return;
  const value = captureValue(output, capture.format, false);
  scope.setPath(capture.name, value.ok ? value.value : withoutLineEnd(output));
}

async function goOn(step: Step, end: StepEnd, at: At): Promise<StepEnd> {
  if (step.onSuccess.length === 0) return end;
  const next = await at.runList(step.onSuccess, inside(at, "on_success"));
  return next.kind === "done" ? end : next;
}

async function tryStep(step: Step, at: At, headBefore: string | undefined): Promise<StepEnd> {
  const end = await tryOnce(step, at, headBefore);
  rememberFailure(step, end, at);
  return end;
}

/** `headBefore` is the commit of HEAD before the step, for `commit_required`. */
async function tryOnce(step: Step, at: At, headBefore: string | undefined): Promise<StepEnd> {
  const acted = await act(step, at);
  try {
    await at.run.git?.record(at.scope, headBefore, step.id);
  } catch (error) {
    return thrownFailure(at, "WorktreeError", "the changes of the step could not be read", error);
  }
  if (acted.kind !== "done") return acted;
  const committed = await checkCommit(step, at, headBefore);
  if (committed.kind !== "done") return committed;
  const validated = step.validate ? await validateStep(step.validate, at) : acted;
  return validated.kind === "done" ? acted : validated;
}

/** A usage error means that a template or path of the step does not fit the item. A retry would not help. */
async function act(step: Step, at: At): Promise<StepEnd> {
  const { action } = step;
  try {
    if (step.validate) forgetResult(step.validate, at);
    if (action.kind === "write_file") return useText(await writeFileStep(action, step, at), step, at);
    if (action.kind === "foreach") {
      const rounds = (limited: At) => foreachStep(action, limited);
      return useText(await withDeadline(at, step.timeoutMs, "foreach", rounds), step, at);
    }
    const startedAt = at.run.context.clock.monotonicNow();
    const ran = await runAction(action, step, at);
    const durationMs = Math.round(at.run.context.clock.monotonicNow() - startedAt);
    return ran.kind === "ran" ? await useProcess(ran, step, at, durationMs) : ran;
  } catch (error) {
    if (isUsageError(error)) return hopeless(at, error.message);
    throw error;
  }
}

/** Uses the output of an ended process before its files are removed, then runs the steps for its exit code. */
async function useProcess(ran: Ran, step: Step, at: At, durationMs: number): Promise<StepEnd> {
  const text = valueText(ran);
  const output = text === undefined ? {} : { output: text };
  const steps = ran.isFinal ? undefined : new Map(Object.entries(step.onExitCode)).get(String(ran.exitCode));
  try {
    const { exitCode, failed } = ran;
    const result = { output: text, exitCode, isDone: !failed, stderr: tailOf(ran.stderr), durationMs };
    recordResult(step, result, at);
    if (ran.failed && !steps) return { ...ran.failed, ...output };
    const printed = { text, bytes: ran.output.bytes, chunks: ran.output.chunks() };
    const used = useOutput(printed, step, at, ran.output.isWhole);
    if (used.kind !== "done") return used;
  } finally {
    ran.release();
  }
  const decided = steps ? await at.runList(steps, inside(at, `on_exit_code ${ran.exitCode}`)) : undefined;
  return decided && decided.kind !== "done" ? decided : { kind: "done", ...output };
}

function valueText({ output }: Ran): string | undefined {
  if (output.bytes > VALUE_BYTES_MAX || !output.isWhole) return undefined;
  return Buffer.concat(Array.from(output.chunks(), (chunk) => Buffer.from(chunk))).toString("utf8");
}

function useText(end: StepEnd, step: Step, at: At): StepEnd {
  if (end.kind !== "done") return end;
  const text = end.output ?? "";
  recordResult(step, { output: text, exitCode: 0, isDone: true, durationMs: 0 }, at);
  const bytes = Buffer.from(text);
  const used = useOutput({ text, bytes: bytes.length, chunks: [bytes] }, step, at, true);
  return used.kind === "done" ? end : used;
}

interface Printed {
  readonly text: string | undefined;
  readonly bytes: number;
  readonly chunks: Iterable<Buffer>;
}

function useOutput(printed: Printed, step: Step, at: At, isWhole: boolean): StepEnd {
  const { outputFile } = step;
  if (outputFile !== undefined) {
    const copy = () => writeInside(expand(outputFile, at.scope.all()), printed.chunks, step, at);
    const copied = isWhole
      ? naming("output_file", copy)
      : ruleFailure(
          at,
          "ResourceExhausted",
          "output_file: the output is too large, and a part of it was dropped",
        );
    if (copied.kind !== "done") return copied;
  }
  return step.capture ? capture(printed, step.capture, at) : { kind: "done" };
}

function capture({ text, bytes }: Printed, { name, format }: NonNullable<Step["capture"]>, at: At): StepEnd {
  const value =
    text === undefined ? { ok: false as const, message: tooLarge(bytes) } : captureValue(text, format);
  if (!value.ok) return ruleFailure(at, "ValidationFailed", `the output for "${name}" ${value.message}`);
  at.scope.setPath(name, value.value);
  return { kind: "done" };
}

async function checkCommit(step: Step, at: At, headBefore: string | undefined): Promise<StepEnd> {
  const { head } = at.run.context;
  if (!step.commitRequired || !head) return { kind: "done" };
  try {
    if ((await head()) !== headBefore) return { kind: "done" };
  } catch (error) {
    return thrownFailure(at, "WorktreeError", "HEAD could not be read", error);
  }
  return ruleFailure(at, "CommitValidationFailed", `${at.name} made no commit, and commit_required is set`);
}
