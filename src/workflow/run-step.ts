/**
 * One step with all its options: `when` decides whether it runs, `retry` tries it again, `on_failure` handles what is
 * left and has it run again, `on_success` goes on from it.
 */

import { compileExpression } from "../kit/expression.ts";
import { backoffMs } from "../retry/backoff.ts";
import { errorVariable } from "./error-variable.ts";
import type { FailureHandler, Step } from "./model.ts";
import { brokenOff, hopeless, thrownFailure } from "./step-failure.ts";
import { logLine } from "./step-log.ts";
import { type At, inside, isTurnedAway, type StepEnd, type StepFailed } from "./step-run.ts";
import { tryStep } from "./try-step.ts";

/** Never throws for what a step does; its failure is a value. */
export async function runStep(step: Step, at: At): Promise<StepEnd> {
  const wanted = isWanted(step, at);
  if (typeof wanted !== "boolean") return wanted;
  if (!wanted) {
    await logLine(at, "skipped");
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
  const variables = at.scope.all();
  const compiled = compileExpression(when, new Map(Object.keys(variables).map((name) => [name, "any"])));
  const answer = compiled.ok ? compiled.evaluate(variables) : compiled;
  return answer.ok ? answer.value : hopeless(at, `when "${when}": ${answer.message}`);
}

/** HEAD before the step, where a commit is asked for: only a commit of its own counts. */
async function headNow(step: Step, at: At): Promise<string | undefined | StepFailed> {
  if (!step.commitRequired) return undefined;
  const { head } = at.run.world;
  if (!head) return hopeless(at, "commit_required needs a git repository, and there is none here");
  try {
    return await head();
  } catch (error) {
    return thrownFailure(at, "WorktreeError", "HEAD could not be read", error);
  }
}

async function tryUntilDone(step: Step, at: At, head: string | undefined): Promise<StepEnd> {
  if (!step.retry) return tryStep(step, at, head);
  const { maxAttempts, backoff } = step.retry;
  for (let attempt = 1; ; attempt++) {
    const path = attempt === 1 ? at : inside(at, `attempt ${attempt}`);
    const end = await tryStep(
      step,
      { ...path, trail: [...at.trail, `attempt ${attempt} of ${maxAttempts}`] },
      head,
    );
    if (end.kind !== "failed" || end.isHopeless || attempt >= maxAttempts || at.signal.aborted) return end;
    const delayMs = backoffMs(backoff, attempt, at.run.world.random);
    // Who asks for a longer wait than the step would make is waited for by the runner, which has other work meanwhile.
    if (end.retryAfterMs !== undefined && end.retryAfterMs > delayMs) return end;
    await at.run.world.clock.sleep(delayMs, at.signal);
    if (at.signal.aborted) return brokenOff(at);
  }
}

/** The handler, then the step again, as often as it says; how the step ended last is what counts. */
async function handleFailure(
  step: Step,
  handler: FailureHandler,
  first: StepFailed,
  at: At,
  head: string | undefined,
): Promise<StepEnd> {
  let last = first;
  for (let round = 1; round <= Math.max(1, handler.maxAttempts) && !at.signal.aborted; round++) {
    const path = handler.maxAttempts > 1 ? `on_failure ${round}` : "on_failure";
    const scope = at.scope.with({ error: errorVariable(last.failure) });
    const handled = await at.runList(handler.steps, { ...inside(at, path), scope });
    if (handled.kind === "stopped" || (handled.kind === "failed" && isTurnedAway(handled))) return handled;
    if (handled.kind === "failed") {
      last = withNote(last, `its on_failure steps failed too: ${handled.failure.errorMessage}`);
      break;
    }
    if (handler.maxAttempts === 0) break;
    const again = await tryStep(
      step,
      inside(at, `again ${round}`, `run again after on_failure, ${round} of ${handler.maxAttempts}`),
      head,
    );
    if (again.kind === "done") return goOn(step, again, at);
    if (again.kind === "stopped") return again;
    last = again;
  }
  return handler.failWorkflow || at.signal.aborted ? last : { kind: "done" };
}

function withNote(end: StepFailed, note: string): StepFailed {
  const errorContext = [...(end.failure.errorContext ?? []), note];
  return { ...end, failure: { ...end.failure, errorContext } };
}

async function goOn(step: Step, end: StepEnd, at: At): Promise<StepEnd> {
  if (step.onSuccess.length === 0) return end;
  const next = await at.runList(step.onSuccess, inside(at, "on_success"));
  return next.kind === "done" ? end : next;
}
