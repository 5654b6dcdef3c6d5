/** Converts an imported letter to the records that every store writes: attempts, header and revisions. */
import { assert } from "../std/assert.ts";
import { compact } from "../std/json.ts";
import { type ErrorTypeName, isErrorTypeName } from "./error-type.ts";
import type { Failure } from "./failure.ts";
import type { Attempt, DeathRecord } from "./item.ts";
import { type Amendment, ATTEMPTS_MAX, type Letter } from "./letter.ts";
import type { ItemState } from "./state.ts";

export const ELSEWHERE = "elsewhere";

/** Whether the attempt was imported. Paths of such attempts are untrusted: they are shown but never opened. */
export function isFromElsewhere({ holder }: Pick<Attempt, "holder">): boolean {
  return holder === ELSEWHERE;
}

export const NOT_READ = "was not read: it is a path of an imported letter";

/** The algorithm version of an imported signature; the real one is unknown. */
export const IMPORTED = "imported";

export interface ImportedLetter {
  readonly state: Extract<ItemState, "dead" | "discarded" | "done">;
  /** Attempts numbered from 1 without gaps. At least one of them failed. */
  readonly attempts: readonly Attempt[];
  readonly death: DeathRecord;
  /** The times of the letter's first and last failure. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Amendments numbered from 2 without gaps, because revision 1 is the original data. */
  readonly amendments: readonly Amendment[];
  /** The current revision; 1 if there are no amendments. */
  readonly revision: number;
}

/** Throws for a letter that has no id; the file readers have already refused such letters. */
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

/** A letter without a resolution is imported as dead, even if it was being redriven in the other store. */
function stateOf({ resolution }: Letter): ImportedLetter["state"] {
  if (!resolution) return "dead";
  return resolution.kind === "discard" ? "discarded" : "done";
}

/** Renumbers the attempts unless their numbers are valid and increasing. */
function numbered(history: readonly Failure[]): readonly Failure[] {
  const rises = history.every(({ attemptNumber }, index) => {
    const before = history[index - 1]?.attemptNumber ?? 0;
    return Number.isInteger(attemptNumber) && attemptNumber > before && attemptNumber <= ATTEMPTS_MAX;
  });
  return rises ? history : history.map((failure, index) => ({ ...failure, attemptNumber: index + 1 }));
}

/**
 * Creates one attempt for each number. Failures that are counted but not described fill the gaps in the history, then follow
 * it. The remaining gaps become released attempts.
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

/** A pattern begins with the error type, which is the only source of the type if the letter has no history. */
function typeOfPattern(pattern: string): ErrorTypeName {
  const [name = ""] = pattern.split("::");
  return isErrorTypeName(name) ? name : "Unknown";
}

/** Returns the message of the last failure that has a record, or an empty string. */
export function lastMessageOf(attempts: readonly Attempt[]): string {
  return attempts.findLast(({ failure }) => failure !== undefined)?.failure?.errorMessage ?? "";
}
