/** Pages of a queue's items, oldest first, with the usage of their agents. */
import type { Engine } from "../engine.ts";
import { type UsageSum, usageToJson } from "../item/agent-run.ts";
import type { Item } from "../item/item.ts";
import type { ItemState } from "../item/state.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { itemToJson } from "./find-item.ts";

export interface ItemPage {
  readonly items: readonly Item[];
  /** Usage by item number; items without agents are absent. */
  readonly usageOf: ReadonlyMap<number, UsageSum["usage"]>;
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null;
}

export async function readItemPage(
  engine: Engine,
  query: {
    readonly queue: string;
    readonly after: number;
    readonly limit: number;
    readonly states?: readonly ItemState[] | undefined;
  },
): Promise<ItemPage> {
  const { queue, after, limit, states } = query;
  const page = await engine.listItems({ queue, after, limit: limit + 1, ...compact({ states }) });
  const items = page.slice(0, limit); // the extra item only shows whether there is a next page
  const sums = await engine.sumAgentUsage({ by: "item", queue, refs: items.map(({ ref }) => ref) });
  const next = page.length > limit ? String(items.at(-1)?.ref ?? after) : null;
  return { items, next, usageOf: new Map(sums.map(({ key, usage }) => [Number(key), usage])) };
}

export function itemPageToJson({ items, usageOf, next }: ItemPage): JsonObject {
  const documents = items.map((item) => {
    const usage = usageOf.get(item.ref);
    return { ...itemToJson(item), ...(usage && { usage: usageToJson(usage) }) };
  });
  return { items: documents, next };
}
