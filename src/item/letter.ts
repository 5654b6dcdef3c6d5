/** A dead letter: an item that the policy gave up on, with its data and every failure; and its JSON. */
import { fromRfc3339, toRfc3339 } from "../std/clock.ts";
import { compact, isJsonObject, type Json, type JsonObject, reader } from "../std/json.ts";
import { type Failure, failureFromJson, failureToJson } from "./failure.ts";
import { type ItemState, parseItemState } from "./state.ts";

/** The worktree of a failed attempt. */
export interface WorktreeArtifacts {
  readonly worktreePath: string;
  readonly branchName: string;
  /** The commit that HEAD was at. */
  readonly head?: string;
  readonly uncommittedChanges?: string;
  readonly errorLogs?: string;
  /** Whether the worktree was kept, according to the program that wrote the letter. */
  readonly preserved?: boolean;
}

/** What a stale worker said after its lease was lost. Kept, and changes nothing. */
export interface LateResult {
  readonly at: number;
  readonly attemptNumber: number;
  readonly outcome: string;
  readonly note: string;
}

/** A new revision of an item's data. The old data is kept. */
export interface Amendment {
  /** The number of the new revision. */
  readonly revision: number;
  readonly at: number;
  readonly author: string;
  /** The automatic rule that made it; absent when a person did. */
  readonly rule?: string;
  readonly note?: string;
  readonly operationId?: string;
  /** The data before it. */
  readonly before: Json;
}

/** A note on a letter. Never rewritten. */
export interface LetterNote {
  readonly at: number;
  readonly author: string;
  readonly text: string;
}

/** How a letter was resolved: redriven unchanged, after a change by a person or a rule, or discarded. */
export const RESOLUTION_KINDS = ["requeue", "manual_fix", "auto_fix", "discard"] as const;
/** One of `RESOLUTION_KINDS`. */
export type ResolutionKind = (typeof RESOLUTION_KINDS)[number];

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
  /** When it failed for the last time. */
  readonly lastAttempt: number;
  /** How many attempts failed. An imported letter may have fewer in its history. */
  readonly failureCount: number;
  readonly failureHistory: readonly Failure[];
  readonly errorSignature: string;
  readonly errorPattern: string;
  /** The signature that another program gave the letter; `errorSignature` is the one of this store. */
  readonly sourceSignature?: string;
  readonly reprocessEligible: boolean;
  readonly manualReviewRequired: boolean;
  readonly worktreeArtifacts?: WorktreeArtifacts;
  readonly jobId: string;
  readonly queue: string;
  /** `dead`; `ready` or `leased` while it is redriven; `discarded` or `done` when it is resolved. */
  readonly state: ItemState;
  /** Why the policy gave up, e.g. `attempts spent (3 of 3)`. */
  readonly reason: string;
  readonly revision: number;
  readonly redriveCount: number;
  /** It failed after so many redrives that only `--force` redrives it again. */
  readonly poison?: boolean;
  readonly lateResults?: readonly LateResult[];
  readonly amendments?: readonly Amendment[];
  readonly notes?: readonly LetterNote[];
  /** Present when it is discarded or done. */
  readonly resolution?: Resolution;
}

/** Converts a letter to the JSON of `--json`, exports and the letter directory. */
export function letterToJson(letter: Letter): JsonObject {
  return letterFieldsToJson(letter, LETTER_FIELDS);
}

/** Only some of the fields, for callers that read many letters. */
export function letterFieldsToJson(letter: Letter, fields: readonly LetterField[]): JsonObject {
  const json: Record<string, Json> = {};
  for (const field of fields) {
    const value = TO_JSON[field](letter);
    if (value !== undefined) json[field] = value;
  }
  return json;
}

const TO_JSON = {
  item_id: (letter) => letter.itemId,
  item_data: (letter) => letter.itemData,
  first_attempt: (letter) => toRfc3339(letter.firstAttempt),
  last_attempt: (letter) => toRfc3339(letter.lastAttempt),
  failure_count: (letter) => letter.failureCount,
  failure_history: (letter) => letter.failureHistory.map(failureToJson),
  error_signature: (letter) => letter.errorSignature,
  error_pattern: (letter) => letter.errorPattern,
  source_signature: (letter) => letter.sourceSignature,
  reprocess_eligible: (letter) => letter.reprocessEligible,
  manual_review_required: (letter) => letter.manualReviewRequired,
  worktree_artifacts: (letter) => letter.worktreeArtifacts && artifactsToJson(letter.worktreeArtifacts),
  job_id: (letter) => letter.jobId,
  queue: (letter) => letter.queue,
  state: (letter) => letter.state,
  reason: (letter) => letter.reason,
  revision: (letter) => letter.revision,
  redrive_count: (letter) => letter.redriveCount,
  poison: (letter) => letter.poison,
  late_results: (letter) => letter.lateResults?.map(lateResultToJson),
  amendments: (letter) => letter.amendments?.map(amendmentToJson),
  notes: (letter) => letter.notes?.map((note) => ({ ...note, at: toRfc3339(note.at) })),
  resolution: (letter) => letter.resolution && resolutionToJson(letter.resolution),
} as const satisfies Record<string, (letter: Letter) => Json | undefined>;

/** The name of a field in the JSON. */
export type LetterField = keyof typeof TO_JSON;
export const LETTER_FIELDS = Object.keys(TO_JSON) as readonly LetterField[];

/** Reads a letter of Redrive or of a predecessor, which lacks newer fields. */
export function letterFromJson(json: JsonObject): Letter {
  const read = reader(json);
  const failures = (read.list("failure_history") ?? []).filter(isJsonObject).map(failureFromJson);
  const artifacts = read.object("worktree_artifacts");
  const resolution = read.object("resolution");
  const time = (key: string) => fromRfc3339(read.text(key) ?? "") ?? 0;
  return compact({
    itemId: read.text("item_id") ?? "",
    itemData: json.item_data ?? null,
    firstAttempt: time("first_attempt"),
    lastAttempt: time("last_attempt"),
    failureCount: read.number("failure_count") ?? failures.length,
    failureHistory: failures,
    errorSignature: read.text("error_signature") ?? "",
    errorPattern: read.text("error_pattern") ?? "",
    sourceSignature: read.text("source_signature"),
    reprocessEligible: read.flag("reprocess_eligible") ?? true,
    manualReviewRequired: read.flag("manual_review_required") ?? false,
    worktreeArtifacts: artifacts && artifactsFromJson(artifacts),
    jobId: read.text("job_id") ?? "",
    queue: read.text("queue") ?? "",
    state: parseItemState(read.text("state") ?? "dead") ?? "dead",
    reason: read.text("reason") ?? "",
    revision: read.number("revision") ?? 1,
    redriveCount: read.number("redrive_count") ?? 0,
    poison: read.flag("poison"),
    lateResults: read.list("late_results")?.filter(isJsonObject).map(lateResultFromJson),
    amendments: read.list("amendments")?.filter(isJsonObject).map(amendmentFromJson),
    notes: read.list("notes")?.filter(isJsonObject).map(noteFromJson),
    resolution: resolution && resolutionFromJson(resolution),
  });
}

export function artifactsToJson(artifacts: WorktreeArtifacts): JsonObject {
  return compact({
    worktree_path: artifacts.worktreePath,
    branch_name: artifacts.branchName,
    head: artifacts.head,
    uncommitted_changes: artifacts.uncommittedChanges,
    error_logs: artifacts.errorLogs,
    preserved: artifacts.preserved,
  });
}

export function artifactsFromJson(json: JsonObject): WorktreeArtifacts {
  const read = reader(json);
  return compact({
    worktreePath: read.text("worktree_path") ?? "",
    branchName: read.text("branch_name") ?? "",
    head: read.text("head"),
    uncommittedChanges: read.text("uncommitted_changes"),
    errorLogs: read.text("error_logs"),
    preserved: read.flag("preserved"),
  });
}

export function lateResultToJson(late: LateResult): JsonObject {
  return {
    at: toRfc3339(late.at),
    attempt_number: late.attemptNumber,
    outcome: late.outcome,
    note: late.note,
  };
}

export function lateResultFromJson(json: JsonObject): LateResult {
  const read = reader(json);
  return {
    at: fromRfc3339(read.text("at") ?? "") ?? 0,
    attemptNumber: read.number("attempt_number") ?? 0,
    outcome: read.text("outcome") ?? "",
    note: read.text("note") ?? "",
  };
}

export function amendmentToJson(amendment: Amendment): JsonObject {
  return compact({
    revision: amendment.revision,
    at: toRfc3339(amendment.at),
    author: amendment.author,
    rule: amendment.rule,
    note: amendment.note,
    operation_id: amendment.operationId,
    before: amendment.before,
  });
}

export function amendmentFromJson(json: JsonObject): Amendment {
  const read = reader(json);
  return compact({
    revision: read.number("revision") ?? 2,
    at: fromRfc3339(read.text("at") ?? "") ?? 0,
    author: read.text("author") ?? "",
    rule: read.text("rule"),
    note: read.text("note"),
    operationId: read.text("operation_id"),
    before: json.before ?? null,
  });
}

function noteFromJson(json: JsonObject): LetterNote {
  const read = reader(json);
  return {
    at: fromRfc3339(read.text("at") ?? "") ?? 0,
    author: read.text("author") ?? "",
    text: read.text("text") ?? "",
  };
}

function resolutionToJson(resolution: Resolution): JsonObject {
  return compact({
    kind: resolution.kind,
    at: toRfc3339(resolution.at),
    author: resolution.author,
    reason: resolution.reason,
    operation_id: resolution.operationId,
  });
}

function resolutionFromJson(json: JsonObject): Resolution {
  const read = reader(json);
  const kind = RESOLUTION_KINDS.find((one) => one === read.text("kind")) ?? "requeue";
  return compact({
    kind,
    at: fromRfc3339(read.text("at") ?? "") ?? 0,
    author: read.text("author"),
    reason: read.text("reason"),
    operationId: read.text("operation_id"),
  });
}
