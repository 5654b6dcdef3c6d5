/** Queries for letters and groups, and their results: filters, pages, arrivals, reports. */
import type { AgentRun } from "./agent-run.ts";
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import type { Event } from "./event.ts";
import type { GroupRecord, GroupState } from "./group.ts";
import type { Attempt, Item } from "./item.ts";
import type { Letter } from "./letter.ts";
import type { LetterCondition } from "./letter-condition.ts";
import type { Operation } from "./operation.ts";
import type { ItemState } from "./state.ts";

/** The events from which a letter's age is measured. Only imported letters arrive later than their last failure. */
export const LETTER_AGES = ["first", "last", "arrival"] as const;
export type LetterAge = (typeof LETTER_AGES)[number];

/** Selects letters. All given conditions must hold; a list matches if any entry does, and an empty list never matches. */
export interface LetterFilter {
  readonly queue?: string;
  readonly itemIds?: readonly string[];
  readonly types?: readonly ErrorTypeName[];
  readonly classes?: readonly ErrorClass[];
  readonly signatures?: readonly string[];
  readonly eligible?: boolean;
  /** The states to select. Default: waiting letters (dead, ready, leased). `done` means resolved letters. */
  readonly states?: readonly ItemState[];
  /** Selects letters of at least this age by the store's clock. */
  readonly olderThanMs?: number;
  /** Selects letters that are younger than this. */
  readonly newerThanMs?: number;
  /** The event from which both ages are measured. Default `first`. */
  readonly ageOf?: LetterAge;
  readonly attemptsMin?: number;
  readonly attemptsMax?: number;
  /**
   * A substring of the message of the last failed attempt, matched case-insensitively (with `toLowerCase`).
   */
  readonly text?: string;
}

export function dependsOnAge({ olderThanMs, newerThanMs }: LetterFilter): boolean {
  return olderThanMs !== undefined || newerThanMs !== undefined;
}

/** Converts the filter's ages to times: later than `after`, and not later than `until`. */
export function ageBounds(
  { olderThanMs, newerThanMs }: LetterFilter,
  now: number,
): { readonly after: number | undefined; readonly until: number | undefined } {
  return {
    after: newerThanMs === undefined ? undefined : now - newerThanMs,
    until: olderThanMs === undefined ? undefined : now - olderThanMs,
  };
}

/** Sort orders: by burial, by attempts (most first), or by item id or error type in code point order; then newest first. */
export const LETTER_ORDERS = ["newest", "oldest", "attempts", "item", "type"] as const;
/** One of `LETTER_ORDERS`. */
export type LetterOrder = (typeof LETTER_ORDERS)[number];

/** A filter and the page of results to return. */
export interface LetterQuery extends LetterFilter {
  /** The sort order. Default `newest`. */
  readonly order?: LetterOrder;
  /** The page size; 0 returns only the total. */
  readonly limit: number;
  /** The `next` value of the previous page in the same order. */
  readonly cursor?: string;
  /** The parts to load (default: all). Other parts may be empty; ids, numbers and group fields are always set. */
  readonly parts?: readonly LetterPart[];
  /** If false, the total is not counted and may be 0. Default true. */
  readonly counted?: boolean;
  /** Leaves out the letters for which this is false. Letters for which it is unknown are on the page; see `undecided`. */
  readonly condition?: LetterCondition;
}

/** The part of a query that a store filters by. */
export type LetterSearch = LetterFilter & Pick<LetterQuery, "condition">;

/**
 * The parts of a letter. `record`: state, revision, redrives, reason, poison, artifacts, resolution. `times`: also the
 * number of failures. `additions`: late results, amendments and notes.
 */
export const LETTER_PARTS = ["data", "record", "times", "last_failure", "failures", "additions"] as const;
/** One of `LETTER_PARTS`. */
export type LetterPart = (typeof LETTER_PARTS)[number];

/** The JSON of a letter's data and of each failure, oldest first, as the store has it; null if a part was not read. */
export interface StoredTexts {
  readonly data: string;
  readonly failures: readonly string[];
}

/** The key of the method that returns the texts of a letter. Copies of a letter do not have it. */
export const STORED_TEXTS: unique symbol = Symbol("stored texts");

/** A letter as the store returns it. */
export interface StoredLetter extends Letter {
  readonly [STORED_TEXTS]?: () => StoredTexts | null;
  readonly ref: number;
  /** Increases with every burial in the store: the newest letter has the highest number. */
  readonly letterSequence: number;
}

export const ATTEMPT_TIMES_MAX = 32;

/** The last times at which attempts began or ended, each once, in ascending order. */
export function attemptTimes(attempts: readonly Attempt[]): readonly number[] {
  const times = attempts.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt ?? startedAt]);
  return [...new Set(times)].sort((a, b) => a - b).slice(-ATTEMPT_TIMES_MAX);
}

/** Names a letter by its item. */
export interface LetterAddress {
  readonly queue: string;
  readonly itemId: string;
}

/** A letter with the records that are shown with it. */
export interface LetterRecords {
  readonly letter: StoredLetter;
  /** All attempts of the item, oldest first. */
  readonly attempts: readonly Attempt[];
  /** All operations of the queue, oldest first. */
  readonly operations: readonly Operation[];
  /** How many waiting letters of the queue have the same signature. */
  readonly groupCount: number;
  readonly group: GroupRecord | null;
  /** The items that were copied to or from the letter's item. */
  readonly links: Pick<Item, "requeuedFrom" | "requeuedAs">;
  /** The events of the item at the last `ATTEMPT_TIMES_MAX` times at which an attempt began or ended, oldest first. */
  readonly events: readonly Event[];
  /** The agents that ran for the item, oldest first; at most 1000. */
  readonly agentRuns: readonly AgentRun[];
}

/** One page, the exact total, and the next page's cursor, which is null on the last page and for a limit of 0. */
export interface LetterPage {
  readonly letters: readonly StoredLetter[];
  readonly total: number;
  readonly next: string | null;
  /**
   * With a condition: the letters of the page for which it is unknown, by `letterSequence`, and the number of such letters in
   * the total. Absent if the store evaluated no condition.
   */
  readonly undecided?: Undecided;
}

export interface Undecided {
  readonly letterSequences: ReadonlySet<number>;
  readonly total: number;
}

/** Selects letters that arrived in the dead letter queue, by what was recorded when they arrived. */
export interface ArrivalQuery
  extends Pick<LetterFilter, "queue" | "types" | "classes" | "signatures" | "eligible"> {
  /** The length of an interval; a multiple of a minute. */
  readonly bucketMs: number;
  /** Skips intervals that end before this time. */
  readonly since?: number;
}

/** The number of burials in one interval. */
export interface Arrival {
  /** The start of the interval. */
  readonly at: number;
  /** Burials whose letters are still waiting. */
  readonly waiting: number;
  /** All burials of the interval. */
  readonly ever: number;
}

/** The result of an import. */
export interface ImportReport {
  readonly imported: number;
  /** Letters that existed and got missing attempts. */
  readonly extended: number;
  /** Letters that existed and were not changed. */
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
  /** The state of the signature over all queues. */
  readonly state: GroupState;
  readonly isRegression: boolean;
  /** The version of the algorithm that last grouped its letters. */
  readonly algorithm: string;
}

/** Sort orders of groups: most letters first, or the newest last or first failure. */
export const GROUP_ORDERS = ["letters", "last", "first"] as const;
export type GroupOrder = (typeof GROUP_ORDERS)[number];

/** A page of signatures in these states, in one queue or in all. */
export interface GroupQuery {
  readonly queue?: string;
  readonly states: readonly GroupState[];
  /** Default `letters`. */
  readonly order?: GroupOrder;
  readonly limit: number;
  /** The `next` value of the previous page. */
  readonly cursor?: string;
}

/** A page of groups. */
export interface GroupPage {
  /** The signatures of the page, in order. */
  readonly signatures: readonly string[];
  /** Their groups in each queue; none for a signature without letters. */
  readonly groups: readonly LetterGroup[];
  /** The number of signatures in each state. */
  readonly counts: Readonly<Record<GroupState, number>>;
  /** Waiting letters by the algorithm that grouped them. */
  readonly algorithms: readonly { readonly algorithm: string; readonly letters: number }[];
  readonly next: string | null;
}

/** A letter and its signature according to the current algorithm. */
export interface Regrouped {
  readonly letterSequence: number;
  readonly signature: string;
  readonly pattern: string;
  readonly algorithm: string;
}
