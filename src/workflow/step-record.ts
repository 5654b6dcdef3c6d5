/**
 * Writes the failure record of a step and its section of the attempt's log, both without secrets. The section begins with:
 *
 *   == step 2: shell: cargo test (exit 101, 1.2 s) ==
 *   == stdout (12 bytes) ==
 */
import { type KeepOutputOptions, type KeptOutput, keepOrExplain } from "../attempt/capture.ts";
import type { Ended } from "../attempt/launch.ts";
import { writeLog } from "../attempt/output.ts";
import { type ProcessEnd, processFailure } from "../attempt/run-process.ts";
import { classOfType, type ErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { classify, type Kind } from "../retry/classify.ts";
import { describeThrown } from "../retry/thrown.ts";
import { formatDuration } from "../std/duration.ts";
import { compact } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import { mapTexts } from "./secrets.ts";
import { type At, passedDeadline, type StepEnd, type StepFailed } from "./step-context.ts";

const MESSAGE_CHARS_MAX = 600;

export function ruleFailure(at: At, type: ErrorTypeName, message: string): StepFailed {
  return { kind: "failed", failure: recordOf(at, { name: type }, message) };
}

/** A failure before the step could start, e.g. an invalid template or path. It is not retried. */
export function hopeless(at: At, message: string): StepFailed {
  const failure = recordOf(at, { name: "ValidationFailed", errorClass: "permanent" }, message);
  return { kind: "failed", failure, isHopeless: true };
}

/** Classifies a file write error. A full disk stops the run without counting the attempt. */
export function writeTrouble(at: At, path: string, thrown: unknown): StepEnd {
  const { errno, message } = describeThrown(thrown);
  if (errno === "ENOSPC" || errno === "EDQUOT") {
    return { kind: "stopped", why: `the disk is full (${errno})` };
  }
  const { errorType, errorClass } = classify(compact({ errno, message }));
  const said = `${path} could not be written: ${message}`;
  return { kind: "failed", failure: recordOf(at, { ...errorType, errorClass }, said) };
}

export function thrownFailure(at: At, type: ErrorTypeName, what: string, thrown: unknown): StepFailed {
  return ruleFailure(at, type, `${what}: ${describeThrown(thrown).message}`);
}

/** Returns the result of aborted work: a timeout if a deadline has passed, else stopped. */
export function brokenOff(at: At): StepEnd {
  const deadline = passedDeadline(at);
  if (!deadline) return { kind: "stopped" };
  return { kind: "failed", failure: recordOf(at, { name: "Timeout" }, lateMessage(at, deadline)) };
}

export function failureOfProcess(end: ProcessEnd, at: At, timeoutMs: number | undefined): Failure {
  const deadline = end.cutShort === "stopped" ? passedDeadline(at) : undefined;
  const ended: ProcessEnd = deadline ? { ...end, cutShort: "timeout" } : end;
  // Texts that come from the process are masked before they are shortened.
  const { mask } = at.run.context;
  const [reported, evidence] = [mapTexts(end.reported, mask), mapTexts(end.evidence, mask)];
  const failure = processFailure(
    { ...ended, reported, evidence },
    {
      ...factsOf(at),
      timeoutMs: deadline?.timeoutMs ?? timeoutMs,
      ...(deadline && { message: lateMessage(at, deadline) }),
    },
  );
  return withLog(failure, at);
}

function lateMessage(at: At, { what, timeoutMs }: { what: string; timeoutMs: number }): string {
  return `${what} timed out after ${formatDuration(timeoutMs)} in ${at.name}`;
}

function factsOf(at: At) {
  const { context, startedAt, jsonLog } = at.run;
  const now = context.clock.now();
  return {
    attempt: context.attempt,
    agentId: context.agentId,
    step: at.label,
    command: at.name,
    durationMs: Math.max(0, now - startedAt), // the clock may have been set back
    now,
    trail: [...at.run.notes, ...at.trail],
    jsonLog,
  };
}

function recordOf(at: At, { name, fields, errorClass }: Kind, message: string): Failure {
  const facts = factsOf(at);
  const failure = compact({
    attemptNumber: facts.attempt,
    timestamp: facts.now,
    errorType: compact({ name, fields }),
    errorClass: errorClass ?? classOfType(name),
    errorMessage: oneLine(at.run.context.mask(message), MESSAGE_CHARS_MAX),
    errorContext: facts.trail,
    agentId: facts.agentId,
    stepFailed: facts.step,
    durationMs: Math.round(facts.durationMs),
    jsonLogLocation: facts.jsonLog,
  });
  return withLog(failure, at);
}

function withLog(failure: Failure, { run }: At): Failure {
  return run.hasLog && failure.log === undefined ? { ...failure, log: run.context.logPath } : failure;
}

export function logProcess(
  at: At,
  output: Pick<KeepOutputOptions, "ended" | "cuts" | "stdoutPath" | "stderrPath">,
  titles: readonly string[],
): Promise<KeptOutput> {
  const { run } = at;
  const { logPath } = run.context;
  return run.inTurn(async () => {
    const kept = await keepOrExplain({ ...output, logPath, titles, mask: run.maskChunk, keepFiles: true });
    run.hasLog ||= kept.log !== undefined;
    return kept;
  });
}

/** Logs a line about a step that has no process. Errors of the log do not fail the step. */
export function logLine(at: At, what: string): Promise<void> {
  const { run } = at;
  return run.inTurn(async () => {
    try {
      await writeLog(run.context.logPath, [], { titles: [titleOf(at, what)] });
      run.hasLog = true;
    } catch {
      // The step's own failure record has the essential information.
    }
  });
}

/** Example: `step 2: shell: cargo test (exit 101, 1.2 s)`. A running step has no part in parentheses. */
export function titleOf(at: At, what?: string): string {
  const title = `${at.path.join(" > ")}: ${at.label}`;
  return what === undefined ? title : `${title} (${what})`;
}

export function endText({ exitCode, signal, startError, durationMs }: Ended): string {
  const ended = signal ? `killed by ${signal}` : `exit ${exitCode}`;
  return `${startError === undefined ? ended : `not started: ${startError}`}, ${formatDuration(durationMs)}`;
}
