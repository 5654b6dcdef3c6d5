/**
 * Lists the fields of an item's data as paths that an edit accepts, e.g. `customer.email`, with shortened
 * values.
 */
const FIELDS_MAX = 50;
const DEPTH_MAX = 4;
const TEXT_CHARS_MAX = 30;

export interface ItemField {
  readonly path: string;
  readonly text: string;
}

export function fieldsOf(data: unknown): readonly ItemField[] {
  const found: ItemField[] = [];
  collect(data, "", 0, found);
  return found;
}

function collect(value: unknown, path: string, depth: number, found: ItemField[]): void {
  if (found.length >= FIELDS_MAX || depth > DEPTH_MAX) return;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    // Keys with other characters need bracket notation, which is too unwieldy for a list of suggestions.
    for (const [key, inner] of Object.entries(value))
      if (/^\w+$/u.test(key)) collect(inner, path === "" ? key : `${path}.${key}`, depth + 1, found);
  } else if (path !== "") {
    found.push({ path, text: (JSON.stringify(value) ?? "").slice(0, TEXT_CHARS_MAX) });
  }
}
