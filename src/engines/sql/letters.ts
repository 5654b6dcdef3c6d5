/** Builds a letter from its row and the records of its item and group. */
import type { StoredLetter } from "../../engine.ts";
import { artifactsFromJson, type Resolution, type ResolutionKind } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { compact, type Json, type JsonObject, parseJson } from "../../std/json.ts";
import type { FailureHistory } from "./attempts.ts";

/** The tables of letters that wait and of those that are closed. */
export type LetterTable = "letters" | "resolved_letters";

export const LETTER_TABLES: readonly LetterTable[] = ["letters", "resolved_letters"];

/** The columns of a letter; optional ones are read only when needed. */
export interface LetterRow extends Partial<LetterRecord>, Partial<ResolutionRow> {
  readonly no: number;
  readonly ref: number;
  readonly item_id: string;
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly eligible: number;
  readonly review: number;
  readonly first_at?: number;
  readonly data?: string;
}

interface LetterRecord {
  readonly state: ItemState;
  readonly revision: number;
  readonly redrives: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly poison: number;
  readonly source_signature: string | null;
}

interface ResolutionRow {
  readonly kind: ResolutionKind;
  readonly closed_at: number;
  readonly author: string | null;
  readonly why: string | null;
  readonly operation: string | null;
}

/** The records of the item besides its failures; null if there are none. */
export type Additions = {
  readonly [Key in "lateResults" | "amendments" | "notes"]?: StoredLetter[Key] | null;
};

/** Does not use `compact`, because a search calls this for every letter. */
export function letterOf(
  row: LetterRow,
  history: FailureHistory | undefined,
  { lateResults, amendments, notes }: Additions,
): StoredLetter {
  const letter: Growing<StoredLetter> = {
    ref: row.ref,
    letterSequence: row.no,
    itemId: row.item_id,
    itemData: row.data === undefined ? null : (parseJson(row.data) as Json),
    firstAttempt: row.first_at ?? 0,
    lastAttempt: history?.lastAttempt ?? 0,
    failureCount: history?.failureCount ?? 0,
    failureHistory: history?.failures ?? [],
    errorSignature: row.signature,
    errorPattern: row.pattern,
    reprocessEligible: row.eligible === 1,
    manualReviewRequired: row.review === 1,
    jobId: row.queue,
    queue: row.queue,
    state: row.state ?? "dead",
    reason: row.reason ?? "",
    revision: row.revision ?? 0,
    redriveCount: row.redrives ?? 0,
  };
  if (row.artifacts != null)
    letter.worktreeArtifacts = artifactsFromJson(parseJson(row.artifacts) as JsonObject);
  if (row.poison === 1) letter.poison = true;
  if (row.source_signature != null) letter.sourceSignature = row.source_signature;
  if (row.kind != null) letter.resolution = resolutionOf(row.kind, row);
  if (lateResults) letter.lateResults = lateResults;
  if (amendments) letter.amendments = amendments;
  if (notes) letter.notes = notes;
  return letter;
}

type Growing<T> = { -readonly [Key in keyof T]: T[Key] };

function resolutionOf(kind: ResolutionKind, { closed_at, author, why, operation }: LetterRow): Resolution {
  return compact({
    kind,
    at: closed_at ?? 0,
    author: author ?? undefined,
    reason: why ?? undefined,
    operationId: operation ?? undefined,
  });
}
