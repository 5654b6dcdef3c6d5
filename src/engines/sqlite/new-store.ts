/** Creates a new store with the current schema at once, which takes a tenth of the time of all migrations. */
import { NEW_STORE_INDEXES } from "./new-store-indexes.ts";
import { NEW_STORE_TABLES } from "./new-store-tables.ts";

/** The version of the schema. Later migrations still have to run. */
export const NEW_STORE_VERSION = 8;

export const NEW_STORE = [...NEW_STORE_TABLES, ...NEW_STORE_INDEXES].map((sql) => `${sql};`).join("\n");
