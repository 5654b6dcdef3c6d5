/** What people call an item. */
import { asText, type Json } from "../kit/json.ts";

/** An id that was taken from the data is what people call the item; one that was made from it tells them nothing. */
export function itemName({ itemId, data }: { readonly itemId: string; readonly data: Json }): string {
  const text = asText(data);
  return typeof data !== "string" && text.includes(itemId) ? itemId : text;
}
