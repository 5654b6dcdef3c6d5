/** The tables of a store as plain rows. Every engine exports and imports its data in this form, without derived data. */
import { assert } from "../std/assert.ts";
import type { JsonObject } from "../std/json.ts";

/** Integers (flags are 0 or 1) or text, which includes JSON. */
export type ColumnKind = "int" | "text";

/** A table, its key columns (which define the row order) and all columns. Text is ordered by code points. */
export interface Table {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
}

/** Defines a table. Column names are separated by spaces. */
function table(name: string, key: string, columns: { readonly int: string; readonly text: string }): Table {
  const words = (text: string) => text.split(" ").filter((word) => word !== "");
  const all = [
    ...words(columns.int).map((column) => ({ name: column, kind: "int" as const })),
    ...words(columns.text).map((column) => ({ name: column, kind: "text" as const })),
  ];
  return { name, key: words(key), columns: all };
}

const DEATH = {
  int: "no ref grp buried_at poison first_at arrived_at",
  text: "reason artifacts source_signature",
};

/** All tables; a referenced table precedes the tables that refer to it. */
export const TABLES: readonly Table[] = [
  table("queues", "no", {
    int: "no ready leased held done dead skipped discarded letters attempts resolved purged evicted spent_until",
    text: "name",
  }),
  table("jobs", "no", {
    int: "no intake_complete created_at started_at ended_at paused_at",
    text: "id name kind spec progress status paused_by paused_why",
  }),
  table("holders", "no", {
    int: "no queue pid ttl_ms expires_at gone",
    text: "id host process_start",
  }),
  table("operations", "no", {
    int: "no queue force created_at ended_at bound next_no selected done refused succeeded failed undoes complete listed returned",
    text: "id kind filter status author reason plan progress selection cursor",
  }),
  table("items", "ref", {
    int: "ref queue position priority due_at expires_at attempts attempts_counted lost_count revision redrives holder operation origin purged",
    text: "item_id state ordering_key",
  }),
  table("payloads", "ref", { int: "ref", text: "data name options" }),
  table("progress", "ref", { int: "ref attempt at", text: "value" }),
  table("attempts", "ref number", {
    int: "ref number holder started_at ended_at",
    text: "outcome failure log result",
  }),
  table("agent_runs", "id", {
    int: "queue ref attempt cost input_tokens cached_tokens output_tokens turns is_final started_at updated_at",
    text: "id step agent session model",
  }),
  table("group_records", "signature", {
    int: "since new_letters regressions is_regression",
    text: "signature pattern state author ignore_until recent",
  }),
  table("groups", "no", {
    int: "no queue eligible review count first_at last_at in_retry resolved discarded",
    text: "signature pattern error_type error_class algorithm",
  }),
  table("letters", "no", DEATH),
  table("resolved_letters", "no", {
    int: `${DEATH.int} closed_at`,
    text: `${DEATH.text} kind author why operation`,
  }),
  table("arrivals", "grp minute", { int: "grp minute waiting ever", text: "" }),
  table("late_results", "no", { int: "no ref at attempt", text: "outcome note" }),
  table("amendments", "ref revision", {
    int: "ref revision at letter",
    text: "author rule note operation before",
  }),
  table("notes", "no", { int: "no ref at", text: "author text" }),
  table("selections", "operation no", { int: "operation no ref grp", text: "state status reason" }),
  table("group_notes", "no", { int: "no at", text: "signature author text" }),
  table("group_fixes", "no", {
    int: "no at count waited_ms",
    text: "signature operation kind edit rule author",
  }),
  table("corrections", "no", { int: "no at", text: "origin folded text target pattern author" }),
  // The queue is 0 for events without a queue. A row with `refs` stores one event for each of these items.
  table("events", "queue id", { int: "id at queue ref attempt span", text: "type data refs" }),
  table("counters", "queue name", { int: "queue value", text: "name" }),
  table("documents", "name", { int: "version", text: "name body" }),
  // The highest number that was ever assigned to a letter; other sequences are derived from existing rows.
  table("sequences", "name", { int: "last", text: "name" }),
];

export function tableNamed(name: string): Table {
  const found = TABLES.find((one) => one.name === name);
  assert(found, `a store has no table "${name}"`);
  return found;
}

/**
 * Builds a row from values in column order. Uses a plain loop, because copying a store builds millions of
 * rows.
 */
export function rowOf(columns: readonly string[], values: readonly (string | number | null)[]): JsonObject {
  const row: Record<string, string | number | null> = {};
  for (let at = 0; at < columns.length; at += 1) row[columns[at] ?? ""] = values[at] ?? null;
  return row;
}
