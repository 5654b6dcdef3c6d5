/** A dead letter (an item that the policy gave up on, with its data and all failures) and its JSON form. */
import type { Json, JsonObject } from "../std/json.ts";
import { FAILURE_FORM, type Failure } from "./failure.ts";
import {
  ANY,
  COUNT,
  FLAG,
  numberKind,
  objectKind,
  objectsKind,
  RecordForm,
  required,
  TEXT,
  TIME,
  textKind,
} from "./record-form.ts";
import { type ItemState, parseItemState } from "./state.ts";

/** The worktree of a failed attempt. */
export interface WorktreeArtifacts {
  readonly worktreePath: string;
  readonly branchName: string;
  readonly head?: string;
  readonly uncommittedChanges?: string;
  readonly errorLogs?: string;
  /** Whether the worktree was kept, according to the program that wrote the letter. */
  readonly preserved?: boolean;
}

/** The result that a worker reported after it had lost its lease. It is recorded but changes nothing. */
export interface LateResult {
  readonly at: number;
  readonly attemptNumber: number;
  readonly outcome: string;
  readonly note: string;
}

/** A new revision of an item's data. The old data is kept. */
export interface Amendment {
  readonly revision: number;
  readonly at: number;
  readonly author: string;
  /** The automatic rule that made the amendment; absent if a person made it. */
  readonly rule?: string;
  readonly note?: string;
  readonly operationId?: string;
  readonly before: Json;
}

/** A note on a letter. Notes are never changed. */
export interface LetterNote {
  readonly at: number;
  readonly author: string;
  readonly text: string;
}

/** How letters are resolved: redriven unchanged, after a change by a person or by a rule, or discarded. */
export const RESOLUTION_KINDS = ["requeue", "manual_fix", "auto_fix", "discard"] as const;
/** One of `RESOLUTION_KINDS`. */
export type ResolutionKind = (typeof RESOLUTION_KINDS)[number];

/** The resolution of a letter. */
export interface Resolution {
  readonly kind: ResolutionKind;
  readonly at: number;
  readonly author?: string;
  readonly reason?: string;
  readonly operationId?: string;
}

/** A dead letter: an item with its failures, changes and notes. */
export interface Letter {
  readonly itemId: string;
  readonly itemData: Json;
  /** When the item failed for the first time. */
  readonly firstAttempt: number;
  /** When the item failed for the last time. */
  readonly lastAttempt: number;
  /** The number of failed attempts. The history of an imported letter may contain fewer. */
  readonly failureCount: number;
  readonly failureHistory: readonly Failure[];
  readonly errorSignature: string;
  readonly errorPattern: string;
  /** The signature from the program that exported the letter; `errorSignature` is the one of this store. */
  readonly sourceSignature?: string;
  readonly reprocessEligible: boolean;
  readonly manualReviewRequired: boolean;
  readonly worktreeArtifacts?: WorktreeArtifacts;
  readonly jobId: string;
  readonly queue: string;
  /** `dead`; `ready` or `leased` during a redrive; `discarded` or `done` when resolved. */
  readonly state: ItemState;
  /** Why the policy gave up, e.g. `out of retries (3 of 3 attempts used)`. */
  readonly reason: string;
  readonly revision: number;
  readonly redriveCount: number;
  /** The item failed after so many redrives that only `--force` redrives it again. */
  readonly poison?: boolean;
  readonly lateResults?: readonly LateResult[];
  readonly amendments?: readonly Amendment[];
  readonly notes?: readonly LetterNote[];
  /** Present when the letter is discarded or done. */
  readonly resolution?: Resolution;
}

/**
 * Limits imported letters, because each attempt becomes a record. Higher counts are refused, and higher
 * attempt numbers are replaced.
 */
export const ATTEMPTS_MAX = 10_000;

const ARTIFACTS_FORM = new RecordForm<WorktreeArtifacts>({
  worktreePath: required(TEXT, ""),
  branchName: required(TEXT, ""),
  head: TEXT,
  uncommittedChanges: TEXT,
  errorLogs: TEXT,
  preserved: FLAG,
});
export const { toJson: artifactsToJson, fromJson: artifactsFromJson } = ARTIFACTS_FORM;

const LATE_RESULT_FORM = new RecordForm<LateResult>({
  at: required(TIME, 0),
  attemptNumber: required(COUNT, 0),
  outcome: required(TEXT, ""),
  note: required(TEXT, ""),
});

const AMENDMENT_FORM = new RecordForm<Amendment>({
  revision: required(COUNT, 2),
  at: required(TIME, 0),
  author: required(TEXT, ""),
  rule: TEXT,
  note: TEXT,
  operationId: TEXT,
  before: required(ANY, null),
});

const NOTE_FORM = new RecordForm<LetterNote>({
  at: required(TIME, 0),
  author: required(TEXT, ""),
  text: required(TEXT, ""),
});

const RESOLUTION_FORM = new RecordForm<Resolution>({
  kind: required(
    textKind((text) => RESOLUTION_KINDS.find((one) => one === text), "not a resolution"),
    "requeue",
  ),
  at: required(TIME, 0),
  author: TEXT,
  reason: TEXT,
  operationId: TEXT,
});

/** The JSON form of a letter in `--json`, exports and the letter directory. Exports of Prodigy and mmm lack some fields. */
const LETTER_FORM = new RecordForm<Letter>({
  itemId: required(TEXT, ""),
  itemData: required(ANY, null),
  firstAttempt: required(TIME, 0),
  lastAttempt: required(TIME, 0),
  failureCount: required(
    numberKind(
      (count) => Number.isSafeInteger(count) && count >= 0 && count <= ATTEMPTS_MAX,
      `not a whole number from 0 to ${ATTEMPTS_MAX}`,
    ),
    0,
  ),
  failureHistory: required(objectsKind(FAILURE_FORM), []),
  errorSignature: required(TEXT, ""),
  errorPattern: required(TEXT, ""),
  sourceSignature: TEXT,
  reprocessEligible: required(FLAG, true),
  manualReviewRequired: required(FLAG, false),
  worktreeArtifacts: objectKind(ARTIFACTS_FORM),
  jobId: required(TEXT, ""),
  queue: required(TEXT, ""),
  state: required(textKind(parseItemState, "not a state"), "dead"),
  reason: required(TEXT, ""),
  revision: required(COUNT, 1),
  redriveCount: required(COUNT, 0),
  poison: FLAG,
  lateResults: objectsKind(LATE_RESULT_FORM),
  amendments: objectsKind(AMENDMENT_FORM),
  notes: objectsKind(NOTE_FORM),
  resolution: objectKind(RESOLUTION_FORM),
});

export const LETTER_FIELDS = LETTER_FORM.names;

/** Converts only the named fields, for callers that read many letters. */
export const letterFieldsToJson: (letter: Letter, fields: readonly string[]) => JsonObject =
  LETTER_FORM.toJson;

/** Converts a letter to the JSON of `--json`, exports and the letter directory. */
export function letterToJson(letter: Letter): JsonObject {
  return LETTER_FORM.toJson(letter);
}

/** Reads a letter that Redrive, Prodigy or mmm (its predecessors) exported. Without a failure count, counts the failures in the history. */
export function letterFromJson(json: JsonObject): Letter {
  const letter = LETTER_FORM.fromJson(json);
  return typeof json.failure_count === "number"
    ? letter
    : { ...letter, failureCount: letter.failureHistory.length };
}

/** Returns the first unreadable field of a letter, its failures or its artifacts, or undefined. */
export function letterProblem(json: JsonObject, onUnknown: (field: string) => void): string | undefined {
  const problem = LETTER_FORM.problemIn(json, "", onUnknown);
  if (problem !== undefined) return problem;
  const history = (json.failure_history ?? []) as readonly JsonObject[];
  for (const [index, failure] of history.entries()) {
    const inside = FAILURE_FORM.problemIn(failure, `failure_history[${index}].`, onUnknown);
    if (inside !== undefined) return inside;
  }
  const artifacts = (json.worktree_artifacts ?? {}) as JsonObject;
  return ARTIFACTS_FORM.problemIn(artifacts, "worktree_artifacts.", onUnknown);
}
