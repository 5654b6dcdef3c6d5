/** What is written down when a process failed: the signs are classified, the tails and the log are named. */
import { compact, type Failure } from "../item/failure.ts";
import { classify, printedTrace } from "../retry/classify.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import type { KeptOutput } from "./capture.ts";
import type { ProcessEnd } from "./run-process.ts";

/** Whose failure it is. */
export interface ProcessFacts {
  readonly attempt: number;
  readonly agentId: string;
  /** How the step is shown to people, filled in, e.g. `shell: cargo test src/a.rs`. */
  readonly step: string;
  /** What the message calls it. The same for every item, so that same failures are one group. */
  readonly command: string;
  /** Said in place of the usual message when it was cut short by time. */
  readonly message?: string;
  /** The limit that it exceeded if it was cut short by time. */
  readonly timeoutMs?: number | undefined;
  readonly durationMs: number;
  readonly now: number;
  /** What led here, outermost first. */
  readonly trail?: readonly string[];
  readonly jsonLog?: string | undefined;
}

/** The record of a failed run. */
export function processFailure(
  { ended, cutShort, kept, reported, evidence }: ProcessEnd,
  facts: ProcessFacts,
): Failure {
  const ending = { exitCode: ended.exitCode ?? undefined, signal: ended.signal ?? undefined };
  const tails = { stdoutTail: kept.stdoutTail, stderrTail: kept.stderrTail };
  const signs = compact({
    timedOutMs: cutShort === "timeout" ? facts.timeoutMs : undefined,
    message: cutShort === "timeout" ? facts.message : undefined,
    ...ending,
    startError: ended.startError,
    reported,
    ...(kept.ends ?? tails),
    command: facts.command,
  });
  const { errorType, errorClass, message } = classify(signs);
  return compact({
    attemptNumber: facts.attempt,
    timestamp: facts.now,
    errorType,
    errorClass,
    errorMessage: message,
    errorContext: contextOf(facts.trail ?? [], reported, kept),
    stackTrace: reported?.stackTrace ?? printedTrace(message, signs),
    agentId: facts.agentId,
    stepFailed: facts.step,
    durationMs: Math.round(facts.durationMs),
    jsonLogLocation: facts.jsonLog,
    ...ending,
    ...tails,
    log: kept.log,
    evidence,
    source: reported?.source,
  });
}

function contextOf(
  trail: readonly string[],
  reported: ReportedFailure | undefined,
  kept: KeptOutput,
): readonly string[] | undefined {
  const context = [
    ...trail,
    ...(reported?.context ?? []),
    ...(reported?.problem === undefined ? [] : [reported.problem]),
    ...(kept.logTrouble === undefined ? [] : [`the log could not be written: ${kept.logTrouble}`]),
  ];
  return context.length === 0 ? undefined : context;
}
