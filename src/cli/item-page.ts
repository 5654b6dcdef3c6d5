/** A page of the items of a queue or the receipts of a target, oldest first: what was asked for, and how it is told. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Item } from "../item/item.ts";
import { ITEM_STATES, type ItemState, parseItemState } from "../item/state.ts";
import { itemToJson } from "../queue/item-json.ts";
import type { Context } from "./context.ts";
import { itemsText } from "./item-text.ts";
import { words } from "./list-words.ts";
import { countOption } from "./option.ts";

export interface ItemFlags {
  readonly state?: readonly string[];
  readonly limit?: string;
  readonly cursor?: string;
}

export interface ItemPage {
  readonly items: readonly Item[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
  /** By the store's clock. */
  readonly now: number;
}

const PAGE_DEFAULT = 20;

export async function readItemPage(
  context: Context,
  flags: ItemFlags,
  { list, find }: { readonly list: Asked["list"]; readonly find: (engine: Engine) => Promise<string> },
): Promise<ItemPage> {
  const limit = countOption("--limit", flags.limit, 1) ?? PAGE_DEFAULT;
  const after = countOption("--cursor", flags.cursor, 0) ?? 0;
  const states = words(flags.state)?.map((word) => readState(word, list));
  return context.withStore(async (engine) => {
    const query = { queue: await find(engine), after, limit: limit + 1, ...(states && { states }) };
    const page = await engine.listItems(query); // one more tells whether there is more
    const items = page.slice(0, limit);
    const next = page.length > limit ? String(items.at(-1)?.ref ?? after) : null;
    return { items, next, now: await engine.now() };
  });
}

function readState(word: string, list: Asked["list"]): ItemState {
  const state = parseItemState(word);
  if (state !== undefined) return state;
  const aliases = list === "items" ? "; also Queued, Processing, OnHold, Processed, Failed" : "";
  throw new WorkError("filter_invalid", `--state: ${list} are never "${word}".`, {
    hint: `There are: ${ITEM_STATES.join(", ")}${aliases}.`,
  });
}

interface Asked {
  /** What the list is called in JSON, and in words. */
  readonly list: "items" | "receipts";
  /** What was typed, without its options. */
  readonly command: string;
  readonly name: string;
  readonly flags: ItemFlags;
}

export function answerItems(context: Context, page: ItemPage, asked: Asked): void {
  const { items, next } = page;
  const { list, name, flags } = asked;
  const toJson = (item: Item) =>
    list === "receipts" ? { key: item.itemId, target: item.queue, ...itemToJson(item) } : itemToJson(item);
  context.answer({ [list]: items.map(toJson), next }, () => {
    if (items.length === 0) return flags.state ? `No ${list} match.\n` : `${name} has no ${list}.\n`;
    const { paint, columns } = context;
    const word = list === "receipts" ? "receipt" : "item";
    return itemsText({ items, now: page.now, word, paint, columns }) + moreText(context, page, asked);
  });
}

function moreText({ paint }: Context, { next }: ItemPage, { command, flags }: Asked): string {
  if (next === null) return "";
  const states = flags.state?.map((state) => ` --state ${state}`).join("") ?? "";
  const isDefault = flags.limit === undefined || flags.limit === String(PAGE_DEFAULT);
  const size = isDefault ? "" : ` --limit ${flags.limit}`;
  return `${paint.dim("Next page:")} ${paint.cyan(`${command}${states}${size} --cursor ${next}`)}\n`;
}
