/** A page of the items of a queue, or of the receipts of a target, oldest first. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Item } from "../item/item.ts";
import { ITEM_STATES, type ItemState, parseItemState } from "../item/state.ts";
import { type ItemView, itemToJson } from "../queue/item-json.ts";
import type { OptionSpec } from "./command.ts";
import type { Context } from "./context.ts";
import { list } from "./options.ts";
import { itemsText } from "./render/item.ts";
import { nextPageText } from "./render/next-page.ts";

/** The states of items, also by the names that Power Automate gives them. */
export function itemStates(help: string): OptionSpec<readonly ItemState[] | undefined> {
  const words = list("--state <states>", help);
  return { ...words, read: (raw, name) => words.read(raw, name)?.map(readState) };
}

function readState(given: string): ItemState {
  const state = parseItemState(given);
  if (state !== undefined) return state;
  throw new WorkError("filter_invalid", `--state: unknown state "${given}".`, {
    hint: `Valid states: ${ITEM_STATES.join(", ")}; also Queued, Processing, OnHold, Processed, Failed.`,
  });
}

interface ListFlags {
  readonly states?: readonly ItemState[];
  readonly limit: number;
  readonly after?: number;
}

interface Listed {
  /** What the list is called in JSON, and in words. */
  readonly list: "items" | "receipts";
  readonly name: string;
  readonly find: (engine: Engine) => Promise<string>;
}

export async function listItems(
  context: Context,
  { states, limit, after = 0 }: ListFlags,
  { list: kind, name, find }: Listed,
): Promise<number> {
  const { items, next, now } = await context.withStore(async (engine) => {
    const query = { queue: await find(engine), after, limit: limit + 1, ...(states && { states }) };
    const page = await engine.listItems(query); // one more shows whether there is a next page
    const shown = page.slice(0, limit);
    const cursor = page.length > limit ? String(shown.at(-1)?.ref ?? after) : null;
    return { items: shown, next: cursor, now: await engine.now() };
  });
  const toJson = (item: Item) =>
    kind === "receipts" ? { key: item.itemId, target: item.queue, ...itemToJson(item) } : itemToJson(item);
  return context.answer({ [kind]: items.map(toJson), next }, () => {
    if (items.length === 0) return states ? `No ${kind} match.\n` : `${name} has no ${kind}.\n`;
    const { paint, columns } = context;
    const word = kind === "receipts" ? "receipt" : "item";
    return itemsText({ items, now, word, paint, columns }) + nextPageText(context, next);
  });
}

export async function readItemView(engine: Engine, item: Item): Promise<ItemView> {
  return { item, attempts: await engine.listAttempts(item.ref), notes: await engine.listNotes(item.ref) };
}
