/** An item of a queue in the TypeScript API. */
import * as z from "zod";
import type { Priority, Item as StoredItem } from "../item/item.ts";
import { ITEM_STATES, type ItemState } from "../item/state.ts";
import * as t from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import { oneOrMany, type Shape } from "./values.ts";

/** One item of a queue. */
export interface Item<Data> {
  /** The key that the item was added with, or its generated id. */
  readonly id: string;
  readonly queue: string;
  readonly data: Data;
  readonly state: ItemState;
  readonly priority: Priority;
  /** The earliest time to run the item. */
  readonly dueAt: Date;
  /** How many attempts were started. */
  readonly attempts: number;
  readonly revision: number;
  readonly redriveCount: number;
  readonly name?: string;
  readonly expiresAt?: Date;
  readonly orderingKey?: string;
}

export function itemOf<Data>(item: StoredItem): Item<Data> {
  const {
    itemId: id,
    queue,
    data,
    state,
    priority,
    attempts,
    revision,
    redriveCount,
    name,
    orderingKey,
  } = item;
  return {
    ...{ id, queue, data: data as Data, state, priority, attempts, revision, redriveCount },
    dueAt: new Date(item.dueAt),
    ...compact({
      name,
      orderingKey,
      expiresAt: item.expiresAt === undefined ? undefined : new Date(item.expiresAt),
    }),
  };
}

/** Selects items of a queue. */
export interface ItemFilter {
  /** Default: items in any state. */
  readonly states?: ItemState | readonly ItemState[];
  readonly ids?: string | readonly string[];
}

export const itemFilter = z.strictObject({
  states: oneOrMany(ITEM_STATES).optional(),
  ids: t.texts.or(t.name.transform((id) => [id])).optional(),
} satisfies Shape<ItemFilter>);
