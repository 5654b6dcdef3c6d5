/**
 * A letter from elsewhere as a store takes it in: the attempts, the gravestone and the revisions that its JSON speaks
 * of. Every engine writes just these, so that what was exported and imported again is equal.
 */
import { assert } from "../kit/assert.ts";
import { compact, type Failure } from "./failure.ts";
import type { Attempt, Grave } from "./item.ts";
import type { Amendment, Letter } from "./letter.ts";
import type { ItemState } from "./state.ts";

/** Who held the attempts that were made elsewhere. */
export const ELSEWHERE = "elsewhere";

/** The algorithm of a signature that came with its letter: which one made it is not known. */
export const IMPORTED = "imported";

/** A history that names attempts above this is numbered anew, for each number up to it becomes a record. */
const ATTEMPTS_MAX = 10_000;

/** What a store writes for a letter from elsewhere. */
export interface ImportedLetter {
  readonly state: Extract<ItemState, "dead" | "discarded" | "done">;
  /** Numbered from 1, without gaps; the last one failed. */
  readonly attempts: readonly Attempt[];
  readonly grave: Grave;
  /** Numbered from 2, without gaps. */
  readonly amendments: readonly Amendment[];
  /** That of the last amendment, or 1. */
  readonly revision: number;
}

/** Crashes on a letter without an id or a failure: the readers of files refuse those. */
export function importedLetter(letter: Letter): ImportedLetter {
  assert(letter.itemId !== "", "a letter from elsewhere has no item id");
  const failures = numbered(letter.failureHistory);
  const last = failures.at(-1);
  assert(last, `letter "${letter.itemId}" from elsewhere has no failure`);
  const amendments = (letter.amendments ?? []).map((one, place) => ({ ...one, revision: place + 2 }));
  return {
    state: stateOf(letter),
    attempts: attemptsOf(letter, failures),
    grave: graveOf(letter, last),
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

function attemptsOf(letter: Letter, failures: readonly Failure[]): readonly Attempt[] {
  const last = failures.at(-1);
  const byNumber = new Map(failures.map((failure) => [failure.attemptNumber, failure]));
  return Array.from({ length: last?.attemptNumber ?? 0 }, (_, place) => {
    const failure = byNumber.get(place + 1);
    if (!failure) return releasedElsewhere(place + 1, letter.firstAttempt);
    return compact({
      number: place + 1,
      outcome: "failed",
      holder: ELSEWHERE,
      startedAt: place === 0 ? letter.firstAttempt : failure.timestamp - failure.durationMs,
      endedAt: failure === last ? letter.lastAttempt : failure.timestamp,
      failure,
      log: failure.log,
    });
  });
}

/** The record of an attempt that left no failure: it was given back, or its worker was. */
export function releasedElsewhere(number: number, at: number): Attempt {
  return { number, outcome: "released", holder: ELSEWHERE, startedAt: at, endedAt: at };
}

function graveOf(letter: Letter, last: Failure): Grave {
  return compact({
    reason: letter.reason,
    errorType: last.errorType.name,
    errorClass: last.errorClass,
    signature: letter.errorSignature,
    pattern: letter.errorPattern,
    algorithm: IMPORTED,
    reprocessEligible: letter.reprocessEligible,
    manualReviewRequired: letter.manualReviewRequired,
    toxic: letter.toxic,
    worktreeArtifacts: letter.worktreeArtifacts,
  });
}
