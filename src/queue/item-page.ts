/** Pages of a queue's items, oldest first, with their results and the usage of their agents. */
import type { Engine } from "../engine.ts";
import { type UsageSum, usageToJson } from "../item/agent-run.ts";
import type { Item } from "../item/item.ts";
import type { ItemState } from "../item/state.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";
import { itemToJson } from "./find-item.ts";

export interface ItemPage {
  readonly items: readonly Item[];
  /** Usage by item number; items without agents are absent. */
  readonly usageOf: ReadonlyMap<number, UsageSum["usage"]>;
  /** By the number of the item; items that are not done, or returned nothing, are absent. */
  readonly resultOf: ReadonlyMap<number, Json>;
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
  const usageOf = new Map(sums.map(({ key, usage }) => [Number(key), usage]));
  return { items, next, usageOf, resultOf: await resultsOf(engine, queue, items) };
}

/** The done items of a page follow each other, so their results are one page too. */
async function resultsOf(engine: Engine, queue: string, items: readonly Item[]) {
  const done = items.filter(({ state }) => state === "done");
  const [first] = done;
  if (first === undefined) return new Map<number, Json>();
  const results = await engine.listResults(queue, { after: first.ref - 1, limit: done.length });
  return new Map(results.filter(({ result }) => result !== null).map(({ ref, result }) => [ref, result]));
}

export function itemPageToJson({ items, usageOf, resultOf, next }: ItemPage): JsonObject {
  const documents = items.map((item) => {
    const usage = usageOf.get(item.ref);
    const result = resultOf.get(item.ref);
    return compact({ ...itemToJson(item), result, usage: usage && usageToJson(usage) }) as JsonObject;
  });
  return { items: documents, next };
}
