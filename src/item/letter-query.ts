/** Queries for letters and groups, and their results: filters, pages, arrivals, reports. */
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import type { GroupState } from "./group.ts";
import type { Letter } from "./letter.ts";
import type { ItemState } from "./state.ts";

/** The start of a letter's age; only an imported letter arrives later than its last failure. */
export const LETTER_AGES = ["first", "last", "arrival"] as const;
export type LetterAge = (typeof LETTER_AGES)[number];

/** All given conditions must hold; of a list, any entry. An empty list matches nothing. */
export interface LetterFilter {
  readonly queue?: string;
  readonly itemIds?: readonly string[];
  readonly types?: readonly ErrorTypeName[];
  readonly classes?: readonly ErrorClass[];
  readonly signatures?: readonly string[];
  readonly eligible?: boolean;
  /** Default: waiting letters (dead, ready, leased). `done` selects resolved letters, `discarded` discarded ones. */
  readonly states?: readonly ItemState[];
  /** At least this old, by the store's clock. */
  readonly olderThanMs?: number;
  /** Younger than this. */
  readonly newerThanMs?: number;
  /** The start of the two ages above. Default `first`. */
  readonly ageOf?: LetterAge;
  readonly attemptsMin?: number;
  readonly attemptsMax?: number;
  /** A substring of the message of the last failed attempt, in any case (as by `toLowerCase`). */
  readonly text?: string;
}

export function dependsOnAge({ olderThanMs, newerThanMs }: LetterFilter): boolean {
  return olderThanMs !== undefined || newerThanMs !== undefined;
}

/** The time bounds of the filter's ages: later than `after`, up to `until`. */
export function ageBounds(
  { olderThanMs, newerThanMs }: LetterFilter,
  now: number,
): { readonly after: number | undefined; readonly until: number | undefined } {
  return {
    after: newerThanMs === undefined ? undefined : now - newerThanMs,
    until: olderThanMs === undefined ? undefined : now - olderThanMs,
  };
}

/** By burial, most attempts first, or by item id or error type in code point order; then newest first. */
export const LETTER_ORDERS = ["newest", "oldest", "attempts", "item", "type"] as const;
/** One of `LETTER_ORDERS`. */
export type LetterOrder = (typeof LETTER_ORDERS)[number];

/** A filter and a page of its results. */
export interface LetterQuery extends LetterFilter {
  /** Default `newest`. */
  readonly order?: LetterOrder;
  /** 0 returns only the total. */
  readonly limit: number;
  /** The `next` of the page before, in the same order. */
  readonly cursor?: string;
  /** Default all. Other parts may be left empty. Ids, numbers and fields of the group are always present. */
  readonly parts?: readonly LetterPart[];
  /** Default true. With false the total may be 0, for searches that do not need it. */
  readonly counted?: boolean;
}

/**
 * The parts of a letter. `record`: state, revision, redrives, reason, poison, artifacts, resolution. `times`: also the
 * number of failures. `additions`: late results, amendments and notes.
 */
export const LETTER_PARTS = ["data", "record", "times", "last_failure", "failures", "additions"] as const;
/** One of `LETTER_PARTS`. */
export type LetterPart = (typeof LETTER_PARTS)[number];

/** A letter as the store returns it. */
export interface StoredLetter extends Letter {
  readonly ref: number;
  /** Rises with every burial of the store: the newest letter has the highest. */
  readonly letterSequence: number;
}

/** One page, the exact total, and the cursor of the next page; null on the last page and for a limit of 0. */
export interface LetterPage {
  readonly letters: readonly StoredLetter[];
  readonly total: number;
  readonly next: string | null;
}

/** Which burials are counted: those whose own death record fits. */
export interface ArrivalQuery
  extends Pick<LetterFilter, "queue" | "types" | "classes" | "signatures" | "eligible"> {
  /** A multiple of a minute. */
  readonly bucketMs: number;
  /** Only from the interval of this time on. */
  readonly since?: number;
}

/** The burials of one stretch of time. */
export interface Arrival {
  /** Its start. */
  readonly at: number;
  /** Those whose letters are still waiting. */
  readonly waiting: number;
  /** All of them. */
  readonly ever: number;
}

/** The result of an import. */
export interface ImportReport {
  readonly imported: number;
  /** Existed and got missing attempts. */
  readonly extended: number;
  /** Existed and were left unchanged. */
  readonly existing: number;
}

export const NOTHING_IMPORTED: ImportReport = { imported: 0, extended: 0, existing: 0 };

export function sumOfReports(one: ImportReport, other: ImportReport): ImportReport {
  return {
    imported: one.imported + other.imported,
    extended: one.extended + other.extended,
    existing: one.existing + other.existing,
  };
}

/** The letters of one queue with the same signature. */
export interface LetterGroup {
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly errorType: ErrorTypeName;
  readonly errorClass: ErrorClass;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** Of its signature. */
  readonly state: GroupState;
  readonly isRegression: boolean;
  /** The version of the algorithm that grouped it last. */
  readonly algorithm: string;
}

/** A letter and its signature by the current algorithm. */
export interface Regrouped {
  readonly letterSequence: number;
  readonly signature: string;
  readonly pattern: string;
  readonly algorithm: string;
}
