/** Turns an imported letter into what every store writes: attempts, header and revisions. */
import { assert } from "../std/assert.ts";
import { compact } from "../std/json.ts";
import { type ErrorTypeName, isErrorTypeName } from "./error-type.ts";
import type { Failure } from "./failure.ts";
import type { Attempt, DeathRecord } from "./item.ts";
import { type Amendment, ATTEMPTS_MAX, type Letter } from "./letter.ts";
import type { ItemState } from "./state.ts";

export const ELSEWHERE = "elsewhere";

/** Its paths are text from a file that anybody may have written: they are shown but never opened. */
export function isFromElsewhere({ holder }: Pick<Attempt, "holder">): boolean {
  return holder === ELSEWHERE;
}

export const NOT_READ = "was not read: it is a path of an imported letter";

/** The algorithm of an imported signature, which is unknown. */
export const IMPORTED = "imported";

export interface ImportedLetter {
  readonly state: Extract<ItemState, "dead" | "discarded" | "done">;
  /** Numbered from 1 without gaps. At least one failed. */
  readonly attempts: readonly Attempt[];
  readonly death: DeathRecord;
  /** The times of the letter's first and last failure. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Numbered from 2 without gaps. */
  readonly amendments: readonly Amendment[];
  /** The last revision, or 1. */
  readonly revision: number;
}

/** Throws on a letter without an id, which the readers of files refuse. */
export function importedLetter(letter: Letter): ImportedLetter {
  assert(letter.itemId !== "", "an imported letter has no item id");
  const failures = numbered(letter.failureHistory);
  const amendments = (letter.amendments ?? []).map((one, index) => ({ ...one, revision: index + 2 }));
  return {
    state: stateOf(letter),
    attempts: attemptsOf(letter, failures),
    death: deathRecordOf(letter, failures.at(-1)),
    firstAt: letter.firstAttempt,
    lastAt: letter.lastAttempt,
    amendments,
    revision: amendments.length + 1,
  };
}

/** Resolved when it has a resolution; a letter that was being redriven elsewhere is dead here. */
function stateOf({ resolution }: Letter): ImportedLetter["state"] {
  if (!resolution) return "dead";
  return resolution.kind === "discard" ? "discarded" : "done";
}

/** Keeps the numbers when they increase; otherwise the attempts are renumbered. */
function numbered(history: readonly Failure[]): readonly Failure[] {
  const rises = history.every(({ attemptNumber }, index) => {
    const before = history[index - 1]?.attemptNumber ?? 0;
    return Number.isInteger(attemptNumber) && attemptNumber > before && attemptNumber <= ATTEMPTS_MAX;
  });
  return rises ? history : history.map((failure, index) => ({ ...failure, attemptNumber: index + 1 }));
}

/**
 * One record for each number. Failures that are only counted get the numbers that the history leaves out, then those
 * after it. Other missing numbers become released attempts.
 */
function attemptsOf(letter: Letter, failures: readonly Failure[]): readonly Attempt[] {
  const last = failures.at(-1);
  const lastNumber = last?.attemptNumber ?? 0;
  const count = Math.min(Math.max(letter.failureCount, 1), ATTEMPTS_MAX);
  let undescribed = Math.max(0, count - failures.length);
  const gaps = lastNumber - failures.length;
  const byNumber = new Map(failures.map((failure) => [failure.attemptNumber, failure]));
  let before = letter.firstAttempt;
  return Array.from({ length: lastNumber + Math.max(0, undescribed - gaps) }, (_, index): Attempt => {
    const number = index + 1;
    const failure = byNumber.get(number);
    if (failure !== undefined) {
      before = failure === last ? letter.lastAttempt : failure.timestamp;
      return describedFailure(failure, before);
    }
    if (undescribed === 0) return releasedElsewhere(number, before);
    undescribed -= 1;
    const at = number > lastNumber ? letter.lastAttempt : before;
    return { ...releasedElsewhere(number, at), outcome: "failed" };
  });
}

function describedFailure(failure: Failure, endedAt: number): Attempt {
  return compact({
    number: failure.attemptNumber,
    outcome: "failed",
    holder: ELSEWHERE,
    startedAt: failure.timestamp - failure.durationMs,
    endedAt,
    failure,
    log: failure.log,
  });
}

export function releasedElsewhere(number: number, at: number): Attempt {
  return { number, outcome: "released", holder: ELSEWHERE, startedAt: at, endedAt: at };
}

function deathRecordOf(letter: Letter, last: Failure | undefined): DeathRecord {
  return compact({
    reason: letter.reason,
    errorType: last?.errorType.name ?? typeOfPattern(letter.errorPattern),
    errorClass: last?.errorClass ?? "unknown",
    signature: letter.errorSignature,
    pattern: letter.errorPattern,
    algorithm: IMPORTED,
    reprocessEligible: letter.reprocessEligible,
    manualReviewRequired: letter.manualReviewRequired,
    poison: letter.poison,
    worktreeArtifacts: letter.worktreeArtifacts,
    sourceSignature: letter.sourceSignature,
  });
}

/** A pattern begins with the error type, which is all that is known of a letter without a history. */
function typeOfPattern(pattern: string): ErrorTypeName {
  const [name = ""] = pattern.split("::");
  return isErrorTypeName(name) ? name : "Unknown";
}

/** The message of the last described failure; empty without one. */
export function lastMessageOf(attempts: readonly Attempt[]): string {
  return attempts.findLast(({ failure }) => failure !== undefined)?.failure?.errorMessage ?? "";
}
