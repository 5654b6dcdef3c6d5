/** Checks that stored JSON texts are valid. The schema does not validate large texts at each write. */
import type { Problem } from "../../engine.ts";
import { isJsonObject, type Json, parseJson } from "../../std/json.ts";
import type { Session } from "./session.ts";

interface JsonColumn {
  readonly table: string;
  readonly column: string;
  /** An SQL expression that names the owner of the text. */
  readonly name: string;
  readonly mustBeObject: boolean;
}

const ITEM = "'item ' || (SELECT i.item_id FROM items i WHERE i.ref = t.ref)";
const COLUMNS: readonly JsonColumn[] = [
  { table: "payloads", column: "data", name: ITEM, mustBeObject: false },
  { table: "payloads", column: "options", name: ITEM, mustBeObject: true },
  { table: "progress", column: "value", name: ITEM, mustBeObject: false },
  { table: "attempts", column: "failure", name: `${ITEM} || ' attempt ' || t.number`, mustBeObject: true },
  { table: "attempts", column: "result", name: `${ITEM} || ' attempt ' || t.number`, mustBeObject: false },
  { table: "letters", column: "artifacts", name: ITEM, mustBeObject: true },
  { table: "resolved_letters", column: "artifacts", name: ITEM, mustBeObject: true },
  { table: "amendments", column: "before", name: ITEM, mustBeObject: false },
  { table: "events", column: "data", name: "'event ' || t.id", mustBeObject: true },
];

/** Checks at most `max` suspicious texts per column. */
export function checkJson(session: Session, max: number): Problem[] {
  const problems: Problem[] = [];
  for (const { table, column, name, mustBeObject } of COLUMNS) {
    // SQLite allows less nesting than our parser, so texts that it rejects are parsed again.
    const isSuspect = `NOT json_valid(t.${column})${mustBeObject ? ` OR json_type(t.${column}) <> 'object'` : ""}`;
    const suspects = session.all<{ detail: string | null; text: string }>(
      `SELECT ${name} AS detail, t.${column} AS text FROM ${table} t
        WHERE t.${column} IS NOT NULL AND (${isSuspect}) LIMIT ${max}`,
    );
    for (const { detail, text } of suspects) {
      if (isReadable(text, mustBeObject)) continue;
      problems.push({ rule: "texts can be read", detail: `${detail ?? table}: its ${column} is not JSON` });
    }
  }
  return problems;
}

function isReadable(text: string, mustBeObject: boolean): boolean {
  let value: Json;
  try {
    value = parseJson(text);
  } catch {
    return false;
  }
  return !mustBeObject || isJsonObject(value);
}
