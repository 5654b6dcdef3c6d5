/**
 * The tables of a store as plain rows, which every engine that can be copied gives and takes alike. The order is one in
 * which no row points at a row of a later table. An engine may keep a table in another form; its rows have this one.
 * What follows from other rows, as who is first in a lane, is not among them.
 */
import { assert } from "../kit/assert.ts";
import type { JsonObject } from "../kit/json.ts";

/** Whole numbers (flags are 0 or 1), and text, which JSON is kept as. */
export type ColumnKind = "int" | "text";

/** A table, the columns that its rows are known and ordered by, and all columns. Text is ordered by code points. */
export interface Table {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
}

/** Columns and keys are given by name, with spaces between. */
function table(name: string, key: string, columns: { readonly int: string; readonly text: string }): Table {
  const words = (text: string) => text.split(" ").filter((word) => word !== "");
  const all = [
    ...words(columns.int).map((column) => ({ name: column, kind: "int" as const })),
    ...words(columns.text).map((column) => ({ name: column, kind: "text" as const })),
  ];
  return { name, key: words(key), columns: all };
}

const GRAVE = {
  int: "no ref grp buried_at toxic first_at arrived_at",
  text: "reason artifacts source_signature",
};

/** Every table; those that others point at come first. */
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
    int: "ref queue place priority due_at expires_at attempts spent losses revision redrives holder operation origin purged",
    text: "item_id state lane",
  }),
  table("payloads", "ref", { int: "ref", text: "data name" }),
  table("attempts", "ref number", {
    int: "ref number holder started_at ended_at",
    text: "outcome failure log result",
  }),
  table("marks", "signature", {
    int: "since new_letters regressions is_regression",
    text: "signature pattern state author ignore_until recent",
  }),
  table("groups", "no", {
    int: "no queue eligible review count first_at last_at away resolved discarded",
    text: "signature pattern error_type error_class algorithm",
  }),
  table("letters", "no", GRAVE),
  table("closed", "no", { int: `${GRAVE.int} closed_at`, text: `${GRAVE.text} kind author why operation` }),
  table("arrivals", "grp minute", { int: "grp minute waiting ever", text: "" }),
  table("evidence", "no", { int: "no ref at attempt", text: "outcome note" }),
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
  // The queue is 0 for what belongs to none. A row with `refs` is a run of events, one for each of these items.
  table("events", "queue id", { int: "id at queue ref attempt span", text: "type data refs" }),
  table("counters", "queue name", { int: "queue value", text: "name" }),
  table("documents", "name", { int: "version", text: "name body" }),
  // The highest number that was ever given to a letter; all others are those of rows that stay.
  table("sequences", "name", { int: "last", text: "name" }),
];

/** The table of that name, which must be one of `TABLES`. */
export function tableNamed(name: string): Table {
  const found = TABLES.find((one) => one.name === name);
  assert(found, `a store has no table "${name}"`);
  return found;
}

/** A row from its values, which are in the order of the columns. A plain loop: a copy makes very many. */
export function rowOf(columns: readonly string[], values: readonly (string | number | null)[]): JsonObject {
  const row: Record<string, string | number | null> = {};
  for (let at = 0; at < columns.length; at += 1) row[columns[at] ?? ""] = values[at] ?? null;
  return row;
}
