/** What the other side knows a receipt by. Every try of the same receipt carries the same key. Pure. */
import type { Item } from "./item.ts";

/** Amended data is another receipt: under the key of the old one the other side would take it for what it has. */
export function receiptKeyOf({ itemId, revision }: Pick<Item, "itemId" | "revision">): string {
  return revision <= 1 ? itemId : `${itemId}.r${revision}`;
}
