/**
 * The version of the schema as a condition in statements that write. Each write checks it in the server, without a round trip of its
 * own, so that a process never writes into a schema that another version of Redrive has changed meanwhile.
 */
import { MIGRATIONS } from "./schema.ts";

export const SCHEMA_VERSION = MIGRATIONS.length;

const FOUND = "redrive store version ";

/**
 * An expression that is true while the store has this version, and otherwise fails with an error that `foundVersion` reads. Who
 * evaluates it holds a lock on the table until its transaction ends, for which a migration waits.
 */
export function versionHoldsIn(table: string): string {
  return `(SELECT CASE WHEN version = ${SCHEMA_VERSION} THEN true ELSE ('${FOUND}' || version)::boolean END FROM ${table})`;
}

/** The version that the failed expression found. */
export function foundVersion(error: unknown): number | undefined {
  if (!(error instanceof Error) || Reflect.get(error, "code") !== "22P02") return undefined;
  const [, version] = new RegExp(`"${FOUND}(\\d+)"`).exec(error.message) ?? [];
  return version === undefined ? undefined : Number(version);
}
