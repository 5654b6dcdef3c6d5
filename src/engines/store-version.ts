/** The error that every engine throws when another version of Redrive has changed the schema of an open store. */
import { RedriveError } from "../errors.ts";

/** The older process must stop: two versions of Redrive never write to the same store. */
export function storeChanged(store: string, opened: number, found: number): RedriveError {
  return new RedriveError(
    "store_newer",
    `The store ${store} was changed from version ${opened} to ${found} while this process used it. Nothing more was written.`,
    { hint: "Restart this process with the version of Redrive that upgraded the store." },
  );
}
