/** A dead letter in the TypeScript API, converted from the stored one. */
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
  /** Whether the letter can be retried without `force`. */
  readonly eligible: boolean;
  /** Whether a person has to review the letter before it is retried. */
  readonly needsReview: boolean;
  /** The item failed after so many redrives that it is retried only with `force`. */
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
  /** The pattern as a readable title. */
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

/**
 * The data is returned as it was added: an item that fails its schema may have data of another type than
 * declared.
 */
export function letterOf<Data>(letter: StoredLetter): Letter<Data> {
  const shown: Growing<Letter<Data>> = new ShownLetter(letter) as Letter<Data>;
  const { resolution, worktreeArtifacts } = letter;
  if (resolution !== undefined) shown.resolution = withDate(resolution);
  if (worktreeArtifacts !== undefined) shown.worktree = worktreeArtifacts;
  return shown;
}

type Growing<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * A letter whose data and failures are parsed on first use, because a listing of many letters needs few of
 * them. All fields are own and enumerable, so that a copy includes them.
 */
class ShownLetter implements Letter<unknown> {
  declare readonly id: string;
  declare readonly queue: string;
  declare readonly data: unknown;
  declare readonly state: ItemState;
  declare readonly reason: string;
  declare readonly type: ErrorTypeName;
  declare readonly class: ErrorClass;
  declare readonly group: LetterGroup;
  declare readonly failures: readonly LetterFailure[];
  declare readonly failureCount: number;
  declare readonly firstAttempt: Date;
  declare readonly lastAttempt: Date;
  declare readonly revision: number;
  declare readonly redriveCount: number;
  declare readonly eligible: boolean;
  declare readonly needsReview: boolean;
  declare readonly poison: boolean;
  declare readonly notes: Letter<unknown>["notes"];
  declare readonly amendments: Letter<unknown>["amendments"];
  readonly #stored: StoredLetter;
  #group: LetterGroup | undefined;
  #failures: readonly LetterFailure[] | undefined;

  constructor(stored: StoredLetter) {
    this.#stored = stored;
    this.id = stored.itemId;
    this.queue = stored.queue;
    Object.defineProperty(this, "data", ShownLetter.#DATA);
    this.state = stored.state;
    this.reason = stored.reason;
    Object.defineProperty(this, "type", ShownLetter.#TYPE);
    Object.defineProperty(this, "class", ShownLetter.#CLASS);
    Object.defineProperty(this, "group", ShownLetter.#GROUP);
    Object.defineProperty(this, "failures", ShownLetter.#FAILURES);
    this.failureCount = stored.failureCount;
    this.firstAttempt = new Date(stored.firstAttempt);
    this.lastAttempt = new Date(stored.lastAttempt);
    this.revision = stored.revision;
    this.redriveCount = stored.redriveCount;
    this.eligible = stored.reprocessEligible;
    this.needsReview = stored.manualReviewRequired;
    this.poison = stored.poison ?? false;
    this.notes = (stored.notes ?? []).map(withDate);
    this.amendments = (stored.amendments ?? []).map(withDate);
  }

  static readonly #DATA = field((letter) => letter.#stored.itemData);
  static readonly #TYPE = field(
    (letter) => letter.#stored.failureHistory.at(-1)?.errorType.name ?? "Unknown",
  );
  static readonly #CLASS = field((letter) => letter.#stored.failureHistory.at(-1)?.errorClass ?? "unknown");
  static readonly #FAILURES = field((letter) => {
    letter.#failures ??= letter.#stored.failureHistory.map(letterFailure);
    return letter.#failures;
  });
  static readonly #GROUP = field((letter) => {
    const { errorSignature: signature, errorPattern: pattern } = letter.#stored;
    letter.#group ??= { signature, pattern, title: titleLine(pattern) };
    return letter.#group;
  });

  /** Node would print `[Getter]` for computed fields. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    return { ...this };
  }
}

function field(get: (letter: ShownLetter) => unknown): PropertyDescriptor & ThisType<ShownLetter> {
  return {
    enumerable: true,
    configurable: true,
    get() {
      return get(this);
    },
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
