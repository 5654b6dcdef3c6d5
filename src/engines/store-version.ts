/** What every engine reports when another Redrive has changed the schema of an open store. */
import { WorkError } from "../errors.ts";

/** Two versions of Redrive never write the same schema: the older process ends. */
export function storeChanged(store: string, opened: number, found: number): WorkError {
  return new WorkError(
    "store_newer",
    `The store ${store} was changed from version ${opened} to ${found} while this process used it. Nothing more was written.`,
    { hint: "Start this process again with the Redrive that changed the store." },
  );
}
