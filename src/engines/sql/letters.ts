/** Builds a letter from its row and the records of its item and group. */
import { STORED_TEXTS, type StoredLetter, type StoredTexts } from "../../engine.ts";
import type { Failure } from "../../item/failure.ts";
import { artifactsFromJson, type Resolution, type ResolutionKind } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import { compact, type Json, type JsonObject, parseJson } from "../../std/json.ts";
import { countOf, failuresOf, failureTextsOf, lastEndOf, readFailure } from "./attempts.ts";

/** The tables of waiting letters and of resolved letters. */
export type LetterTable = "letters" | "resolved_letters";

export const LETTER_TABLES: readonly LetterTable[] = ["letters", "resolved_letters"];

/** Letters with their items, a list for each column. Optional columns were not read, or have nothing for any of the letters. */
export interface LetterColumns {
  readonly no: readonly number[];
  readonly ref: readonly number[];
  readonly group: readonly number[];
  readonly itemId: readonly string[];
  readonly firstAt: readonly number[];
  readonly state?: readonly ItemState[] | undefined;
  readonly revision?: readonly number[] | undefined;
  readonly redrives?: readonly number[] | undefined;
  readonly reason?: readonly string[] | undefined;
  readonly rare?: readonly (RareColumns | null)[] | undefined;
  readonly resolution?: readonly ResolutionColumns[] | undefined;
}

/** What few letters have. */
export type RareColumns = readonly [artifacts: string | null, poison: number, sourceSignature: string | null];

/** The columns that only resolved letters have. */
export type ResolutionColumns = readonly [
  kind: ResolutionKind,
  closedAt: number,
  author: string | null,
  why: string | null,
  operation: string | null,
];

/** The texts of items by their positions among the letters; null for those that were not read or do not exist. */
export interface LetterTexts {
  data(position: number): string | null;
  /** The text of `failedAttempts`. */
  attempts(position: number): string | null;
  /** The last failure, if only this one was read. */
  lastFailure(position: number): string | null;
}

const nothing = () => null;
export const NO_TEXTS: LetterTexts = { data: nothing, attempts: nothing, lastFailure: nothing };

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

/**
 * Builds letters without their additions; `groups` has the groups of all of them. A loop of its own: V8 compiles a function with
 * a loop over thousands of letters together with whatever else it calls.
 */
export function lettersOf(
  columns: LetterColumns,
  texts: readonly LetterTexts[],
  groups: ReadonlyMap<number, GroupColumns>,
): StoredLetter[] {
  const { group } = columns;
  const letters: StoredLetter[] = [];
  for (let at = 0; at < group.length; at += 1)
    letters.push(
      new LoadedLetter(columns, {
        at,
        texts: texts[at] ?? NO_TEXTS,
        group: groups.get(group[at] as number) as GroupColumns,
      }),
    );
  const { rare, resolution } = columns;
  return rare || resolution
    ? letters.map((letter, at) => withRare(letter, rare?.[at], resolution?.[at]))
    : letters;
}

function withRare(
  letter: Growing<StoredLetter>,
  rare: RareColumns | null | undefined,
  resolution: ResolutionColumns | null | undefined,
): StoredLetter {
  const [artifacts = null, poison = 0, sourceSignature = null] = rare ?? [];
  if (artifacts !== null) letter.worktreeArtifacts = artifactsFromJson(parseJson(artifacts) as JsonObject);
  if (poison === 1) letter.poison = true;
  if (sourceSignature !== null) letter.sourceSignature = sourceSignature;
  if (resolution) letter.resolution = resolutionOf(resolution);
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

/** A letter among others, with its texts and its group. */
interface Place {
  readonly at: number;
  readonly texts: LetterTexts;
  readonly group: GroupColumns;
}

/**
 * A letter whose data and failures are parsed when they are first used: parsing costs more than reading, and most listings use
 * few of them. All fields are own and enumerable, so that a copy includes them.
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
  readonly #at: number;
  #texts: LetterTexts;
  #itemData: Json | undefined;
  #failures: readonly Failure[] | undefined;
  #times: Times | undefined;

  constructor(columns: LetterColumns, { at, texts, group }: Place) {
    this.#at = at;
    this.#texts = texts;
    this.ref = columns.ref[at] as number;
    this.letterSequence = columns.no[at] as number;
    this.itemId = columns.itemId[at] as string;
    Object.defineProperty(this, "itemData", LoadedLetter.#ITEM_DATA);
    this.firstAttempt = columns.firstAt[at] as number;
    Object.defineProperty(this, "lastAttempt", LoadedLetter.#LAST_ATTEMPT);
    Object.defineProperty(this, "failureCount", LoadedLetter.#FAILURE_COUNT);
    Object.defineProperty(this, "failureHistory", LoadedLetter.#FAILURE_HISTORY);
    this.errorSignature = group.signature;
    this.errorPattern = group.pattern;
    this.reprocessEligible = group.eligible === 1;
    this.manualReviewRequired = group.review === 1;
    this.jobId = group.queue;
    this.queue = group.queue;
    this.state = columns.state?.[at] ?? "dead";
    this.reason = columns.reason?.[at] ?? "";
    this.revision = columns.revision?.[at] ?? 0;
    this.redriveCount = columns.redrives?.[at] ?? 0;
  }

  static readonly #ITEM_DATA = lazily(function (this: LoadedLetter) {
    if (this.#itemData !== undefined) return this.#itemData;
    const text = this.#texts.data(this.#at);
    this.#itemData = text === null ? null : parseJson(text);
    this.#forgetTexts();
    return this.#itemData;
  });

  static readonly #FAILURE_HISTORY = lazily(function (this: LoadedLetter) {
    if (this.#failures !== undefined) return this.#failures;
    this.#times ??= timesIn(this.#texts, this.#at);
    this.#failures = failuresIn(this.#texts, this.#at);
    this.#forgetTexts();
    return this.#failures;
  });

  static readonly #FAILURE_COUNT = lazily(function (this: LoadedLetter) {
    this.#times ??= timesIn(this.#texts, this.#at);
    return this.#times.count;
  });

  static readonly #LAST_ATTEMPT = lazily(function (this: LoadedLetter) {
    this.#times ??= timesIn(this.#texts, this.#at);
    return this.#times.lastAt;
  });

  /** The texts are in memory together with those of other letters. */
  #forgetTexts(): void {
    if (this.#itemData !== undefined && this.#failures !== undefined) this.#texts = NO_TEXTS;
  }

  [STORED_TEXTS](): StoredTexts | null {
    const data = this.#texts.data(this.#at);
    const attempts = this.#texts.attempts(this.#at);
    if (data === null || attempts === null || this.#texts.lastFailure(this.#at) !== null) return null;
    return attempts.includes(OLD_EVIDENCE) ? null : { data, failures: failureTextsOf(attempts) };
  }

  /** Node would print `[Getter]` for the data and the failures. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    return { ...this };
  }
}

/** How failures of older versions begin the list of their evidence, which has another form today. */
const OLD_EVIDENCE = '"evidence":["';

function lazily(get: () => unknown): PropertyDescriptor {
  return { enumerable: true, configurable: true, get };
}

interface Times {
  readonly count: number;
  readonly lastAt: number;
}

function timesIn(texts: LetterTexts, position: number): Times {
  const attempts = texts.attempts(position);
  return attempts === null
    ? { count: 0, lastAt: 0 }
    : { count: countOf(attempts), lastAt: lastEndOf(attempts) };
}

function failuresIn(texts: LetterTexts, position: number): readonly Failure[] {
  const last = texts.lastFailure(position);
  if (last !== null) return [readFailure(last)];
  const attempts = texts.attempts(position);
  return attempts === null ? [] : failuresOf(attempts);
}

function resolutionOf([kind, at, author, why, operation]: ResolutionColumns): Resolution {
  return compact({
    kind,
    at,
    author: author ?? undefined,
    reason: why ?? undefined,
    operationId: operation ?? undefined,
  });
}
