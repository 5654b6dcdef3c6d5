/** A selection of dead letters. Nothing is read before it is iterated or asked. */
import * as z from "zod";
import { RedriveError } from "../errors.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES, type ErrorClass, type ErrorTypeName } from "../item/error-type.ts";
import {
  LETTER_AGES,
  LETTER_ORDERS,
  type LetterAge,
  type LetterOrder,
  type LetterFilter as StoredFilter,
} from "../item/letter-query.ts";
import { ITEM_STATES, type ItemState } from "../item/state.ts";
import { mergedInto, requireGroup } from "../redrive/groups.ts";
import { countSelected, type Selection, selectLetters, selectPage } from "../redrive/select.ts";
import * as t from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import type { Context } from "./context.ts";
import { type Letter, letterOf } from "./letter.ts";
import type { Duration, Shape } from "./values.ts";
import * as v from "./values.ts";

/** Selects letters. All given conditions must hold; a list matches if any entry does. */
export interface LetterFilter {
  readonly ids?: string | readonly string[];
  /** The signature of a group, its beginning, or the name of a group. An unknown group has no letters. */
  readonly group?: string | readonly string[];
  readonly type?: ErrorTypeName | readonly ErrorTypeName[];
  readonly class?: ErrorClass | readonly ErrorClass[];
  /** A CEL expression over `letter`, `item` (its data) and `failure` (its last failure). */
  readonly filter?: string;
  readonly olderThan?: Duration;
  readonly newerThan?: Duration;
  /** The event from which the age counts. Default `first`: the first failure. */
  readonly ageOf?: LetterAge;
  /** Whether the letter is retried without `force`. */
  readonly eligible?: boolean;
  /** Default: waiting letters, which are dead or on their way again. */
  readonly states?: ItemState | readonly ItemState[];
  /** A part of the last failure's message, in any case. */
  readonly text?: string;
  readonly attemptsMin?: number;
  readonly attemptsMax?: number;
  /** The order of iteration. Default `newest`. */
  readonly order?: LetterOrder;
}

function words<Word extends string>(all: readonly Word[]) {
  const error = `expected one of ${all.join(", ")}, or a list of them`;
  return z
    .custom<Word | readonly Word[]>(
      (value) => [value].flat().every((one) => (all as readonly unknown[]).includes(one)),
      { error },
    )
    .transform((value) => [value].flat() as Word[]);
}

const names = z
  .custom<string | readonly string[]>(
    (value) => [value].flat().every((one) => typeof one === "string" && one !== ""),
    { error: "expected a text that is not empty, or a list of them" },
  )
  .transform((value) => [value].flat());

export const letterFilter = z.strictObject({
  ids: names.optional(),
  group: names.optional(),
  type: words(ERROR_TYPE_NAMES).optional(),
  class: words(ERROR_CLASSES).optional(),
  filter: t.name.optional(),
  olderThan: v.duration.optional(),
  newerThan: v.duration.optional(),
  ageOf: t.oneOf(LETTER_AGES).optional(),
  eligible: t.flag.optional(),
  states: words(ITEM_STATES).optional(),
  text: t.text.optional(),
  attemptsMin: t.count.optional(),
  attemptsMax: t.count.optional(),
  order: t.oneOf(LETTER_ORDERS).optional(),
} satisfies Shape<LetterFilter>);

type ReadFilter = z.output<typeof letterFilter>;

/** A page of letters. */
export interface LetterPage<Data> {
  readonly letters: readonly Letter<Data>[];
  readonly total: number;
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null;
}

/** The queue or job whose letters are selected. */
export interface LetterScope {
  readonly queue?: string;
  /** Creates the queue if it does not exist. */
  readonly ready?: () => Promise<void>;
}

/** A selection of dead letters. */
export class Letters<Data> implements AsyncIterable<Letter<Data>> {
  readonly #context: Context;
  readonly #scope: LetterScope;
  readonly #filter: ReadFilter;

  /** @internal */
  constructor(context: Context, scope: LetterScope, filter: LetterFilter) {
    this.#context = context;
    this.#scope = scope;
    this.#filter = t.parseInput(letterFilter, filter, { caller: "letters", name: "filter" });
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Letter<Data>> {
    const { order } = this.#filter;
    const options = order === undefined ? {} : { order };
    const selection = await this.#selection();
    for await (const letter of selectLetters(this.#context.engine, selection, options))
      yield letterOf<Data>(letter);
  }

  async count(): Promise<number> {
    return countSelected(this.#context.engine, await this.#selection());
  }

  /** The first letter in the order of the selection, or null. */
  async first(): Promise<Letter<Data> | null> {
    const { letters } = await this.#page({ limit: 1 }, false);
    return letters[0] ?? null;
  }

  /** One page with the exact total. */
  async page(options: { readonly limit?: number; readonly cursor?: string } = {}): Promise<LetterPage<Data>> {
    const given = t.parseInput(pageOptions, options, { caller: "letters.page", name: "options" });
    return this.#page({ limit: given.limit ?? PAGE_MAX, ...compact({ cursor: given.cursor }) }, true);
  }

  async #page(page: { readonly limit: number; readonly cursor?: string }, counted: boolean) {
    const { order } = this.#filter;
    const selection = await this.#selection();
    const request = { ...page, counted, ...compact({ order }) };
    const { letters, total, next } = await selectPage(this.#context.engine, selection, request);
    return { letters: letters.map((letter) => letterOf<Data>(letter)), total, next };
  }

  async #selection(): Promise<Selection> {
    const { group, filter: where, order: _, ids, type, class: classes, ...others } = this.#filter;
    await this.#scope.ready?.();
    const { olderThan, newerThan, ...same } = others;
    const filter: StoredFilter = compact({
      ...same,
      queue: this.#scope.queue,
      itemIds: ids,
      types: type,
      classes,
      olderThanMs: olderThan,
      newerThanMs: newerThan,
      signatures: group && (await this.#signatures(group)),
    });
    return { filter, ...(where !== undefined && { where }) };
  }

  /** An unknown group selects nothing, which an empty list means. */
  async #signatures(groups: readonly string[]): Promise<readonly string[]> {
    const { engine } = this.#context;
    const corrections = await engine.listCorrections();
    const found: string[] = [];
    for (const group of groups) {
      try {
        found.push(mergedInto((await requireGroup(engine, group)).signature, corrections));
      } catch (error) {
        if (!(error instanceof RedriveError) || error.code !== "group_not_found") throw error;
      }
    }
    return found;
  }
}

const PAGE_MAX = 50;
const pageOptions = z.strictObject({ limit: t.wholeNumber(1, 10_000).optional(), cursor: t.text.optional() });
