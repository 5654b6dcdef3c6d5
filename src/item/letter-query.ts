/** Questions about letters and groups, and the form of the answers: pages, arrivals, reports. Nouns only. */
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import type { GroupState } from "./group.ts";
import type { Letter } from "./letter.ts";
import type { LetterFilter } from "./letter-filter.ts";

/**
 * By burial (`newest` first, `oldest` first), most attempts first, or by item id or error type, in the order of their
 * code points; then newest first.
 */
export const LETTER_ORDERS = ["newest", "oldest", "attempts", "item", "type"] as const;
export type LetterOrder = (typeof LETTER_ORDERS)[number];

/** A filter and the page of it that is wanted. */
export interface LetterQuery extends LetterFilter {
  /** Default `newest`. */
  readonly order?: LetterOrder;
  /** 0 asks for the total alone. */
  readonly limit: number;
  /** The `next` of the page before, of the same order. */
  readonly cursor?: string;
  /**
   * Default all. For a search that looks at many letters: what is not named may be left out, which is quicker, and is
   * then empty and says nothing. The ids of item and job, the numbers, and what the group says are always there.
   */
  readonly parts?: readonly LetterPart[];
  /** Default true. False when nobody looks at the total, for a search page by page: it may be 0 then. */
  readonly counted?: boolean;
}

/**
 * What letters are read by: the item's data; the record of state, revision, redrives, reason, toxic, artifacts and
 * resolution; the count of failures with the times of the first and the last attempt; the last failure (then the
 * history has that one alone) or all of them; and what was added: evidence, amendments and notes.
 */
export const LETTER_PARTS = ["data", "record", "times", "last_failure", "failures", "additions"] as const;
export type LetterPart = (typeof LETTER_PARTS)[number];

/** A letter as the store has it. */
export interface StoredLetter extends Letter {
  /** The item's number. */
  readonly ref: number;
  /** Rises with every burial of the store: the newest letter has the highest. */
  readonly burial: number;
}

/** One page, the exact total of the query, and the cursor of the next page; null on the last, and of a limit of 0. */
export interface LetterPage {
  readonly letters: readonly StoredLetter[];
  readonly total: number;
  readonly next: string | null;
}

/** Which burials are counted: those whose own gravestone fits. */
export interface ArrivalQuery
  extends Pick<LetterFilter, "queue" | "types" | "classes" | "signatures" | "eligible"> {
  /** A multiple of a minute. */
  readonly bucketMs: number;
  /** Only from the stretch that has this time on. */
  readonly since?: number;
}

/** The burials of one stretch of time. */
export interface Arrival {
  /** Its start. */
  readonly at: number;
  /** Those whose letters still wait. */
  readonly waiting: number;
  /** All that ever were. */
  readonly ever: number;
}

/** What became of letters from elsewhere. */
export interface ImportReport {
  readonly imported: number;
  /** Were there, and got attempts that they lacked. */
  readonly extended: number;
  /** Were there, and left alone. */
  readonly existing: number;
}

/** The letters of one queue that died of the same failure. */
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
  /** The version of the algorithm that grouped its first letter, or that it was last regrouped by. */
  readonly algorithm: string;
}

/** A letter and the signature that the algorithm gives it now. */
export interface Regrouped {
  readonly burial: number;
  readonly signature: string;
  readonly pattern: string;
  readonly algorithm: string;
}
