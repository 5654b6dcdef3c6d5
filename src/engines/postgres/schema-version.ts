/**
 * A condition on the schema version in every statement that writes. The server checks it without an extra round trip, so a
 * process never writes to a schema that another version of Redrive has changed.
 */
import { MIGRATIONS } from "./schema.ts";

export const SCHEMA_VERSION = MIGRATIONS.length;

const FOUND = "redrive store version ";

/**
 * An expression that is true while the store has this version, and otherwise fails with an error that `foundVersion` reads.
 * It locks the table until the transaction ends, so that migrations wait.
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
