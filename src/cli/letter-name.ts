/** What a person calls the item of a letter: its own data; its id where that was taken from the data. */
import { isGeneratedId } from "../intake/identity.ts";
import { isJsonObject, type Json } from "../kit/json.ts";
import { clean, width } from "./paint.ts";
import { shorten } from "./shorten.ts";

interface Named {
  readonly itemId: string;
  readonly itemData: Json;
}

/** The data as text: a string as it is, the fields of an object as `key=value`. */
export function dataText(data: Json): string {
  if (!isJsonObject(data)) return valueText(data);
  return Object.entries(data)
    .map(([key, value]) => `${key}=${valueText(value)}`)
    .join(" ");
}

function valueText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Whether the id is a part of the data, such as an order number: then it names the item. */
export function isNamedById({ itemId, itemData }: Named): boolean {
  return !isGeneratedId(itemId) && dataText(itemData).includes(itemId);
}

const DATA_COLUMNS_MIN = 8;

/**
 * `src/a.ts (7h2k9m4x)`, or the id alone where it names the item. In few columns the data is shortened; null when there is
 * no room for it.
 */
export function letterName(
  letter: Named,
  { idOf, columns }: { readonly idOf: (itemId: string) => string; readonly columns: number },
): string | null {
  const id = clean(idOf(letter.itemId));
  if (isNamedById(letter)) return width(id) <= columns ? id : null;
  const room = columns - width(id) - 3;
  return room < DATA_COLUMNS_MIN ? null : `${shorten(dataText(letter.itemData), room)} (${id})`;
}

/** Shorter values may be a part of any word. */
const VALUE_CHARS_MIN = 6;

/** A text of an item without the item's own values: each is replaced with an ellipsis. */
export function withoutData(text: string, data: Json): string {
  const values = isJsonObject(data) ? Object.values(data) : [data];
  const shown = values
    .filter((value) => typeof value === "string")
    .filter(({ length }) => length >= VALUE_CHARS_MIN);
  return shown.reduce((rest, value) => (rest === value ? rest : rest.replaceAll(value, "…")), text);
}
