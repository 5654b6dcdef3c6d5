/** What does the work of one attempt. `perform` turns whatever a handler does, throws or returns into an `Outcome`. */
import { parse } from "node:path";
import { compact } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import { classify } from "../retry/classify.ts";
import { readException } from "../retry/exception.ts";
import { describeThrown } from "../retry/thrown.ts";
import type { OpenAttempt } from "./open-attempt.ts";

/** What an attempt is told besides its item, and what it can say besides its end. */
export interface AttemptContext {
  /** Counts every started attempt of the item, from 1, over all redrives. */
  readonly attempt: number;
  /** Which of the runner's slots it runs in, from 1. */
  readonly slot: number;
  readonly agentId: string;
  /** Aborted when the runner stops or has lost its leases: end the work and answer `released`. */
  readonly signal: AbortSignal;
  /** False when the lease may have expired, as after a stall of the machine: start nothing more and answer `released`. */
  readonly mayStart: () => boolean;
  /** Writes a note on the item. It is kept whatever becomes of the attempt. */
  readonly note: (text: string) => void;
  /** Names a file that shows what happened. If the attempt fails, its record tells what was in it. */
  readonly evidence: (path: string) => void;
}

/** The work itself: one try of one item. What it throws is recorded as a failure. */
export type Handler = (item: LeasedItem, context: AttemptContext) => Promise<Outcome>;

export interface PerformOptions {
  readonly now: () => number;
  /** Where copies of evidence go. Default: none are made. */
  readonly evidenceFolder?: string | undefined;
}

/** Never throws: a handler's failure is a value. */
export async function perform(
  item: LeasedItem,
  handler: Handler,
  attempt: OpenAttempt,
  options: PerformOptions,
): Promise<Outcome> {
  const startedAt = options.now();
  try {
    const outcome = await handler(item, attempt);
    return attempt.paths === null ? outcome : await withEvidence(outcome, attempt, options);
  } catch (thrown) {
    return withEvidence(
      outcomeOf(thrown, { item, attempt, startedAt, now: options.now() }),
      attempt,
      options,
    );
  }
}

interface Throwing {
  readonly item: LeasedItem;
  readonly attempt: OpenAttempt;
  readonly startedAt: number;
  readonly now: number;
}

function outcomeOf(thrown: unknown, { item, attempt, startedAt, now }: Throwing): Outcome {
  const { stackTrace, context: trail, ...signs } = describeThrown(thrown);
  const { type, step = "handler", source, evidence = [], retryAfterMs } = readException(thrown);
  for (const path of evidence) attempt.evidence(path);
  const reported = type === undefined ? {} : { reported: { type: { name: type } } };
  const { errorType, errorClass, message } = classify({ ...signs, ...reported });
  const failure = compact({
    attemptNumber: item.attempt,
    timestamp: now,
    errorType,
    errorClass,
    errorMessage: message,
    errorContext: trail,
    stackTrace,
    agentId: attempt.agentId,
    stepFailed: step,
    durationMs: now - startedAt,
    source,
  });
  return { kind: "failed", failure, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/**
 * Looked at when the attempt ends, so that the record tells what was there. A function has no folder of its own and the
 * rights of its process: it may name any plain file.
 */
async function withEvidence(
  outcome: Outcome,
  { paths, signal }: OpenAttempt,
  { evidenceFolder }: PerformOptions,
): Promise<Outcome> {
  if (outcome.kind !== "failed" || paths === null) return outcome;
  const { collectEvidence } = await import("./evidence.ts");
  const keeping = evidenceFolder === undefined ? {} : { keepIn: evidenceFolder };
  const found = await collectEvidence(paths, {
    cwd: process.cwd(),
    folders: [parse(process.cwd()).root],
    signal,
    ...keeping,
  });
  const { evidence = [], ...failure } = outcome.failure;
  return { ...outcome, failure: { ...failure, evidence: [...evidence, ...found] } };
}
