/** The letter filter of the TypeScript API, and its conversion to a selection of the store. */
import * as z from "zod";
import type { Engine } from "../engine.ts";
import { isError } from "../errors.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES, type ErrorClass, type ErrorTypeName } from "../item/error-type.ts";
import {
  LETTER_AGES,
  LETTER_ORDERS,
  type LetterAge,
  type LetterOrder,
  type LetterFilter as StoredFilter,
} from "../item/letter-query.ts";
import { ITEM_STATES, type ItemState } from "../item/state.ts";
import { requireLiveGroup } from "../redrive/groups.ts";
import type { Selection } from "../redrive/select.ts";
import * as t from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import * as v from "./values.ts";
import { type Duration, oneOrMany, type Shape } from "./values.ts";

/** Selects letters. All given conditions must hold; a list matches if any entry does. */
export interface LetterFilter {
  readonly ids?: string | readonly string[];
  /** The signature of a group, a prefix of it, or the name of a group. An unknown group has no letters. */
  readonly group?: string | readonly string[];
  readonly type?: ErrorTypeName | readonly ErrorTypeName[];
  readonly class?: ErrorClass | readonly ErrorClass[];
  /** A CEL expression over `letter`, `item` (its data) and `failure` (its last failure). */
  readonly filter?: string;
  readonly olderThan?: Duration;
  readonly newerThan?: Duration;
  /** The event from which the age is measured. Default `first`: the first failure. */
  readonly ageOf?: LetterAge;
  /** Whether the letter can be retried without `force`. */
  readonly eligible?: boolean;
  /** Default: waiting letters, which are dead or being retried. */
  readonly states?: ItemState | readonly ItemState[];
  /** A substring of the last failure's message, ignoring case. */
  readonly text?: string;
  readonly attemptsMin?: number;
  readonly attemptsMax?: number;
  /** The order of iteration. Default `newest`. */
  readonly order?: LetterOrder;
}

const names = z
  .custom<string | readonly string[]>(
    (value) => [value].flat().every((one) => typeof one === "string" && one !== ""),
    { error: "expected a non-empty text, or a list of them" },
  )
  .transform((value) => [value].flat());

export const letterFilter = z.strictObject({
  ids: names.optional(),
  group: names.optional(),
  type: oneOrMany(ERROR_TYPE_NAMES).optional(),
  class: oneOrMany(ERROR_CLASSES).optional(),
  filter: t.name.optional(),
  olderThan: v.duration.optional(),
  newerThan: v.duration.optional(),
  ageOf: t.oneOf(LETTER_AGES).optional(),
  eligible: t.flag.optional(),
  states: oneOrMany(ITEM_STATES).optional(),
  text: t.text.optional(),
  attemptsMin: t.count.optional(),
  attemptsMax: t.count.optional(),
  order: t.oneOf(LETTER_ORDERS).optional(),
} satisfies Shape<LetterFilter>);

export type ReadFilter = z.output<typeof letterFilter>;

/** The selection of a queue, or of all queues. */
export async function selectionOf(
  engine: Engine,
  queue: string | undefined,
  given: ReadFilter,
): Promise<Selection> {
  const { group, filter: where, order: _, ids, type, class: classes, olderThan, newerThan, ...same } = given;
  const filter: StoredFilter = compact({
    ...same,
    queue,
    itemIds: ids,
    types: type,
    classes,
    olderThanMs: olderThan,
    newerThanMs: newerThan,
    signatures: group && (await signaturesOf(engine, group)),
  });
  return { filter, ...(where !== undefined && { where }) };
}

/** An unknown group selects nothing, as an empty list does. */
async function signaturesOf(engine: Engine, groups: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(groups.map((group) => signatureOf(engine, group)));
  return found.filter((signature) => signature !== null);
}

async function signatureOf(engine: Engine, group: string): Promise<string | null> {
  try {
    return (await requireLiveGroup(engine, group)).signature;
  } catch (error) {
    if (isError(error, "group_not_found")) return null;
    throw error;
  }
}
