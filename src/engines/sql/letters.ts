/** Builds a letter from its row and the records of its item and group. */
import type { StoredLetter } from "../../engine.ts";
import type { Failure } from "../../item/failure.ts";
import { artifactsFromJson, type Resolution, type ResolutionKind } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { compact, type Json, type JsonObject, parseJson } from "../../std/json.ts";
import { countOf, failuresOf, lastEndOf, readFailure } from "./attempts.ts";

/** The tables of waiting letters and of resolved letters. */
export type LetterTable = "letters" | "resolved_letters";

export const LETTER_TABLES: readonly LetterTable[] = ["letters", "resolved_letters"];

/**
 * A letter with its item, as an array, because SQLite packs rows into arrays. Optional columns were not read;
 * the last ones exist only for resolved letters.
 */
export type LetterTuple = readonly [
  no: number,
  ref: number,
  group: number,
  itemId: string,
  firstAt: number,
  state?: ItemState,
  revision?: number,
  redrives?: number,
  reason?: string,
  artifacts?: string | null,
  poison?: number,
  sourceSignature?: string | null,
  kind?: ResolutionKind | null,
  closedAt?: number | null,
  author?: string | null,
  why?: string | null,
  operation?: string | null,
];

/** The texts of an item, each null if it was not read or does not exist. */
export type LetterTexts = readonly [
  data: string | null,
  /** The text of `failedAttempts`. */
  attempts: string | null,
  /** The last failure, if only this one was read. */
  lastFailure: string | null,
];

/** The columns of a letter that come from its group. */
export interface GroupColumns {
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly eligible: number;
  readonly review: number;
}

/** The records of the item besides its failures; null or undefined if there are none. */
export type Additions = {
  readonly [Key in "lateResults" | "amendments" | "notes"]: StoredLetter[Key] | null | undefined;
};

/** Builds a letter without its additions. Does not use `compact`, because a listing calls this for every letter. */
export function letterOf(row: LetterTuple, texts: LetterTexts, group: GroupColumns): StoredLetter {
  const letter: Growing<StoredLetter> = new LoadedLetter(row, texts, group);
  // Destructuring would iterate the array, which costs more than the rest of the function.
  const artifacts = row[9];
  const sourceSignature = row[11];
  const kind = row[12];
  if (artifacts != null) letter.worktreeArtifacts = artifactsFromJson(parseJson(artifacts) as JsonObject);
  if (row[10] === 1) letter.poison = true;
  if (sourceSignature != null) letter.sourceSignature = sourceSignature;
  if (kind != null) letter.resolution = resolutionOf(kind, row);
  return letter;
}

/** Sets the additions of a letter that was just built. */
export function withAdditions(
  letter: Growing<StoredLetter>,
  { lateResults, amendments, notes }: Additions,
): StoredLetter {
  if (lateResults) letter.lateResults = lateResults;
  if (amendments && amendments.length > 0) letter.amendments = amendments;
  if (notes) letter.notes = notes;
  return letter;
}

type Growing<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * A letter whose data and failures are parsed when they are first used: parsing costs as much as reading, and
 * most listings use few of them. All fields are own and enumerable, so that a copy includes them.
 */
class LoadedLetter implements StoredLetter {
  declare readonly ref: number;
  declare readonly letterSequence: number;
  declare readonly itemId: string;
  declare readonly itemData: Json;
  declare readonly firstAttempt: number;
  declare readonly lastAttempt: number;
  declare readonly failureCount: number;
  declare readonly failureHistory: readonly Failure[];
  declare readonly errorSignature: string;
  declare readonly errorPattern: string;
  declare readonly reprocessEligible: boolean;
  declare readonly manualReviewRequired: boolean;
  declare readonly jobId: string;
  declare readonly queue: string;
  declare readonly state: ItemState;
  declare readonly reason: string;
  declare readonly revision: number;
  declare readonly redriveCount: number;
  /** The text of the data until it is parsed. */
  #data: string | null;
  #itemData: Json = null;
  /** The text of the failed attempts until it is parsed. */
  #attempts: string | null;
  #failures: readonly Failure[];

  constructor(row: LetterTuple, texts: LetterTexts, group: GroupColumns) {
    const attempts = texts[1];
    const lastFailure = texts[2];
    this.#data = texts[0];
    this.#attempts = lastFailure === null ? attempts : null;
    this.#failures = lastFailure === null ? NO_FAILURES : [readFailure(lastFailure)];
    this.ref = row[1];
    this.letterSequence = row[0];
    this.itemId = row[3];
    Object.defineProperty(this, "itemData", LoadedLetter.#ITEM_DATA);
    this.firstAttempt = row[4];
    this.lastAttempt = attempts === null ? 0 : lastEndOf(attempts);
    this.failureCount = attempts === null ? 0 : countOf(attempts);
    Object.defineProperty(this, "failureHistory", LoadedLetter.#FAILURE_HISTORY);
    this.errorSignature = group.signature;
    this.errorPattern = group.pattern;
    this.reprocessEligible = group.eligible === 1;
    this.manualReviewRequired = group.review === 1;
    this.jobId = group.queue;
    this.queue = group.queue;
    this.state = row[5] ?? "dead";
    this.reason = row[8] ?? "";
    this.revision = row[6] ?? 0;
    this.redriveCount = row[7] ?? 0;
  }

  static readonly #ITEM_DATA: PropertyDescriptor & ThisType<LoadedLetter> = {
    enumerable: true,
    configurable: true,
    get() {
      if (this.#data !== null) this.#itemData = parseJson(this.#data);
      this.#data = null;
      return this.#itemData;
    },
  };

  static readonly #FAILURE_HISTORY: PropertyDescriptor & ThisType<LoadedLetter> = {
    enumerable: true,
    configurable: true,
    get() {
      if (this.#attempts !== null) this.#failures = failuresOf(this.#attempts);
      this.#attempts = null;
      return this.#failures;
    },
  };

  /** Node would print `[Getter]` for the data and the failures. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    return { ...this };
  }
}

const NO_FAILURES: readonly Failure[] = [];

function resolutionOf(kind: ResolutionKind, row: LetterTuple): Resolution {
  const [closedAt, author, why, operation] = row.slice(13) as LastColumns;
  return compact({
    kind,
    at: closedAt ?? 0,
    author: author ?? undefined,
    reason: why ?? undefined,
    operationId: operation ?? undefined,
  });
}

type LastColumns = [
  closedAt?: number | null,
  author?: string | null,
  why?: string | null,
  operation?: string | null,
];
