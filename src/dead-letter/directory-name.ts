/** What an item's file is called in a letter directory: no two items share a name, and none is another file's path. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileNameOf } from "../item/item-path.ts";

/** Where a file system takes `A` and `a` for the same name, capitals are encoded too. */
export function itemFileName(itemId: string, caseBlind = false): string {
  if (itemId === "") return "%.json"; // a name that begins with a dot would be hidden; no other id has a bare %
  const name = fileNameOf(itemId);
  return `${caseBlind ? withoutCapitals(name) : name}.json`;
}

/** The folder has an `items`. Where it can also be found as `ITEMS`, case does not tell names apart. */
export function isCaseBlind(folder: string): boolean {
  return existsSync(join(folder, "ITEMS"));
}

/** What is encoded already has capitals of its own, which stay: `%2F` is never written as `%2f`. */
function withoutCapitals(name: string): string {
  return name.replace(/%[0-9A-F]{2}|[A-Z]/g, (found) =>
    found.length > 1 ? found : `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
