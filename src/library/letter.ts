/** A dead letter as TypeScript users see it, made from the stored one. */
import type { StoredLetter } from "../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import type { EvidenceFile, Failure, FailureSource } from "../item/failure.ts";
import type { Amendment, LetterNote, Resolution, WorktreeArtifacts } from "../item/letter.ts";
import type { ItemState } from "../item/state.ts";
import { compact } from "../std/json.ts";
import { titleLine } from "../triage/title.ts";

/** A dead letter: an item that the policy gave up on, with its data and all its failures. */
export interface Letter<Data> {
  /** The key that the item was added with, or its generated id. */
  readonly id: string;
  readonly queue: string;
  readonly data: Data;
  /** `dead`; `ready` or `leased` during a redrive; `discarded` or `done` when resolved. */
  readonly state: ItemState;
  /** Why the policy gave up, for example `out of retries (3 of 3 attempts used)`. */
  readonly reason: string;
  /** The type and class of the last failure. */
  readonly type: ErrorTypeName;
  readonly class: ErrorClass;
  readonly group: LetterGroup;
  /** All recorded failures, oldest first. */
  readonly failures: readonly LetterFailure[];
  readonly failureCount: number;
  /** When the item failed for the first and for the last time. */
  readonly firstAttempt: Date;
  readonly lastAttempt: Date;
  /** The revision of the data, from 1. */
  readonly revision: number;
  readonly redriveCount: number;
  /** Whether the letter is retried without `force`. */
  readonly eligible: boolean;
  /** Whether a person has to review the letter before it is retried. */
  readonly needsReview: boolean;
  /** The item failed after so many redrives that only `force` retries it. */
  readonly poison: boolean;
  readonly notes: readonly (Omit<LetterNote, "at"> & { readonly at: Date })[];
  /** The changes of the data, oldest first, each with the data before it. */
  readonly amendments: readonly (Omit<Amendment, "at"> & { readonly at: Date })[];
  /** How the letter was resolved. */
  readonly resolution?: Omit<Resolution, "at"> & { readonly at: Date };
  /** The git worktree of a workflow's last attempt. */
  readonly worktree?: WorktreeArtifacts;
}

/** The group of a letter: failures with the same signature. */
export interface LetterGroup {
  readonly signature: string;
  readonly pattern: string;
  /** The pattern as a title for people. */
  readonly title: string;
}

/** One failed attempt. */
export interface LetterFailure {
  readonly message: string;
  readonly type: ErrorTypeName;
  readonly class: ErrorClass;
  /** The failed step; `handler` for a function. */
  readonly step: string;
  readonly attempt: number;
  readonly at: Date;
  readonly durationMs: number;
  /** The messages of the error's causes, outermost first. */
  readonly context: readonly string[];
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stack?: string;
  readonly stdout?: string;
  readonly stderr?: string;
  /** The path of the file with the whole output. */
  readonly log?: string;
  readonly evidence?: readonly EvidenceFile[];
  readonly source?: FailureSource;
}

/** The data is what was added: an item that fails its schema may have other data than its type says. */
export function letterOf<Data>(letter: StoredLetter): Letter<Data> {
  const last = letter.failureHistory.at(-1);
  const { resolution, worktreeArtifacts } = letter;
  return {
    id: letter.itemId,
    queue: letter.queue,
    data: letter.itemData as Data,
    state: letter.state,
    reason: letter.reason,
    type: last?.errorType.name ?? "Unknown",
    class: last?.errorClass ?? "unknown",
    group: {
      signature: letter.errorSignature,
      pattern: letter.errorPattern,
      title: titleLine(letter.errorPattern),
    },
    failures: letter.failureHistory.map(letterFailure),
    failureCount: letter.failureCount,
    firstAttempt: new Date(letter.firstAttempt),
    lastAttempt: new Date(letter.lastAttempt),
    revision: letter.revision,
    redriveCount: letter.redriveCount,
    eligible: letter.reprocessEligible,
    needsReview: letter.manualReviewRequired,
    poison: letter.poison ?? false,
    notes: (letter.notes ?? []).map(withDate),
    amendments: (letter.amendments ?? []).map(withDate),
    ...(resolution && { resolution: withDate(resolution) }),
    ...(worktreeArtifacts && { worktree: worktreeArtifacts }),
  };
}

function withDate<T extends { readonly at: number }>(record: T): Omit<T, "at"> & { readonly at: Date } {
  return { ...record, at: new Date(record.at) };
}

export function letterFailure(failure: Failure): LetterFailure {
  return compact({
    message: failure.errorMessage,
    type: failure.errorType.name,
    class: failure.errorClass,
    step: failure.stepFailed,
    attempt: failure.attemptNumber,
    at: new Date(failure.timestamp),
    durationMs: failure.durationMs,
    context: failure.errorContext ?? [],
    exitCode: failure.exitCode,
    signal: failure.signal,
    stack: failure.stackTrace,
    stdout: failure.stdoutTail,
    stderr: failure.stderrTail,
    log: failure.log,
    evidence: failure.evidence,
    source: failure.source,
  });
}
