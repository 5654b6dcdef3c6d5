/**
 * A letter from elsewhere as a store takes it in: the attempts, the gravestone and the revisions that its JSON speaks
 * of. Every engine writes just these, so that what was exported and imported again is equal.
 */
import { assert } from "../kit/assert.ts";
import { type ErrorTypeName, isErrorTypeName } from "./error-type.ts";
import { compact, type Failure } from "./failure.ts";
import type { Attempt, Grave } from "./item.ts";
import type { Amendment, Letter } from "./letter.ts";
import type { ItemState } from "./state.ts";

/** Who held the attempts that were made elsewhere. */
export const ELSEWHERE = "elsewhere";

/**
 * Whether the attempt was made elsewhere, or is of an imported letter. Its paths are text that somebody wrote into a
 * file: they are shown, and never opened.
 */
export function isFromElsewhere({ holder }: Pick<Attempt, "holder">): boolean {
  return holder === ELSEWHERE;
}

/** Why a file that such an attempt names is not read. */
export const NOT_READ = "was not read: it is a path of an imported letter";

/** The algorithm of a signature that came with its letter: which one made it is not known. */
export const IMPORTED = "imported";

/**
 * A history that names attempts above this is numbered anew, and a count above it is refused: each attempt becomes a record.
 */
export const ATTEMPTS_MAX = 10_000;

/** What a store writes for a letter from elsewhere. */
export interface ImportedLetter {
  readonly state: Extract<ItemState, "dead" | "discarded" | "done">;
  /** Numbered from 1, without gaps. At least one failed. */
  readonly attempts: readonly Attempt[];
  readonly grave: Grave;
  /** The times of the letter's first and last failure. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Numbered from 2, without gaps. */
  readonly amendments: readonly Amendment[];
  /** That of the last amendment, or 1. */
  readonly revision: number;
}

/** Crashes on a letter without an id: the readers of files refuse those. */
export function importedLetter(letter: Letter): ImportedLetter {
  assert(letter.itemId !== "", "a letter from elsewhere has no item id");
  const failures = numbered(letter.failureHistory);
  const amendments = (letter.amendments ?? []).map((one, place) => ({ ...one, revision: place + 2 }));
  return {
    state: stateOf(letter),
    attempts: attemptsOf(letter, failures),
    grave: graveOf(letter, failures.at(-1)),
    firstAt: letter.firstAttempt,
    lastAt: letter.lastAttempt,
    amendments,
    revision: amendments.length + 1,
  };
}

/** Closed when it has a resolution; what was on its way elsewhere is dead here. */
function stateOf({ resolution }: Letter): ImportedLetter["state"] {
  if (!resolution) return "dead";
  return resolution.kind === "discard" ? "discarded" : "done";
}

/** With the numbers that it has when they rise from 1 on; those of a predecessor may not, and are counted anew. */
function numbered(history: readonly Failure[]): readonly Failure[] {
  const rises = history.every(({ attemptNumber }, place) => {
    const before = history[place - 1]?.attemptNumber ?? 0;
    return Number.isInteger(attemptNumber) && attemptNumber > before && attemptNumber <= ATTEMPTS_MAX;
  });
  return rises ? history : history.map((failure, place) => ({ ...failure, attemptNumber: place + 1 }));
}

/**
 * One record for each number. Failures that are counted and not described take the numbers that the history leaves out,
 * then those after it; a number that is still left out was released.
 */
function attemptsOf(letter: Letter, failures: readonly Failure[]): readonly Attempt[] {
  const last = failures.at(-1);
  const lastNumber = last?.attemptNumber ?? 0;
  const count = Math.min(Math.max(letter.failureCount, 1), ATTEMPTS_MAX);
  let undescribed = Math.max(0, count - failures.length);
  const gaps = lastNumber - failures.length;
  const byNumber = new Map(failures.map((failure) => [failure.attemptNumber, failure]));
  let before = letter.firstAttempt;
  return Array.from({ length: lastNumber + Math.max(0, undescribed - gaps) }, (_, place): Attempt => {
    const number = place + 1;
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

/** The record of an attempt that left no failure: it was given back, or its worker was. */
export function releasedElsewhere(number: number, at: number): Attempt {
  return { number, outcome: "released", holder: ELSEWHERE, startedAt: at, endedAt: at };
}

function graveOf(letter: Letter, last: Failure | undefined): Grave {
  return compact({
    reason: letter.reason,
    errorType: last?.errorType.name ?? typeOfPattern(letter.errorPattern),
    errorClass: last?.errorClass ?? "unknown",
    signature: letter.errorSignature,
    pattern: letter.errorPattern,
    algorithm: IMPORTED,
    reprocessEligible: letter.reprocessEligible,
    manualReviewRequired: letter.manualReviewRequired,
    toxic: letter.toxic,
    worktreeArtifacts: letter.worktreeArtifacts,
    sourceSignature: letter.sourceSignature,
  });
}

/** A pattern begins with the error type: it is all that is known of a letter without a history. */
function typeOfPattern(pattern: string): ErrorTypeName {
  const [name = ""] = pattern.split("::");
  return isErrorTypeName(name) ? name : "Unknown";
}

/** What the last failure said that is described; empty when none is. */
export function lastMessageOf(attempts: readonly Attempt[]): string {
  return attempts.findLast(({ failure }) => failure !== undefined)?.failure?.errorMessage ?? "";
}
