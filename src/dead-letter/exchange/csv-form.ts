/**
 * A letter as a row of CSV: columns that people can read and sort by, and one, `details`, that carries as JSON what has
 * no column of its own. Together they are the whole letter.
 */
import { quoteInexactNumbers } from "../../intake/parse-json.ts";
import { type Letter, letterToJson } from "../../item/letter.ts";
import { isJsonObject, type Json, type JsonObject } from "../../kit/json.ts";

/** How a field is written into its cell, and read from it. A text may be empty, a word may not. */
type CellKind = "text" | "word" | "number" | "flag" | "json";

/** Columns that are fields of the letter. */
const FIELDS = {
  item_id: "text",
  job_id: "text",
  queue: "text",
  state: "word",
  reason: "text",
  failure_count: "number",
  first_attempt: "word",
  last_attempt: "word",
  error_signature: "text",
  error_pattern: "text",
  reprocess_eligible: "flag",
  manual_review_required: "flag",
  revision: "number",
  redrive_count: "number",
  toxic: "flag",
  item_data: "json",
} as const satisfies Readonly<Record<string, CellKind>>;

/** Of the last failure; for people, and not read: the whole history is in the details. */
const LAST_FAILURE = ["error_type", "error_class", "error_message"] as const;
const DETAILS = "details";

const FIELD_NAMES = Object.keys(FIELDS) as readonly (keyof typeof FIELDS)[];
const isField = (name: string): name is keyof typeof FIELDS => Object.hasOwn(FIELDS, name);

/** The columns in their order. */
export const CSV_COLUMNS: readonly string[] = [...FIELD_NAMES, ...LAST_FAILURE, DETAILS];

/** The first row. */
export const CSV_HEADER: string = `${CSV_COLUMNS.join(",")}\n`;

/** A letter as one row, with the end of its line. */
export function csvRow(letter: Letter): string {
  const json = letterToJson(letter);
  const last = letter.failureHistory.at(-1);
  const told = last ? [last.errorType.name, last.errorClass, last.errorMessage] : ["", "", ""];
  const details = Object.entries(json).filter(([name, value]) => !isField(name) || !fits(value));
  return rowText([
    ...FIELD_NAMES.map((name) => cellOf(FIELDS[name], json[name])),
    ...told,
    JSON.stringify(Object.fromEntries(details)),
  ]);
}

/** The letter's JSON from a row. Columns that are not ours are given back as they are; a cell that is wrong is an error. */
export function letterFromRow(columns: readonly string[], cells: readonly string[]): JsonObject | string {
  const fields: Record<string, Json> = {};
  let details: JsonObject = {};
  for (const [index, column] of columns.entries()) {
    const cell = plain(cells[index] ?? "");
    if ((LAST_FAILURE as readonly string[]).includes(column)) continue;
    const value =
      column === DETAILS ? jsonOf(cell) : readCell(isField(column) ? FIELDS[column] : "text", cell);
    if (value === undefined) return `the cell ${column} cannot be read: ${cell.slice(0, CELL_SHOWN_MAX)}`;
    if (column !== DETAILS) fields[column] = value;
    else if (isJsonObject(value)) details = value;
  }
  return { ...fields, ...details };
}

const CELL_SHOWN_MAX = 60;

/** Half a character cannot be written to a file. The JSON of the details can say it. */
function fits(value: Json): boolean {
  return typeof value !== "string" || !/\p{Cs}/u.test(value);
}

function cellOf(kind: CellKind, value: Json | undefined): string {
  if (value === undefined) return "";
  return kind === "json" ? JSON.stringify(value) : String(value);
}

/** Null stands for a field that is not there, undefined for a cell that cannot be read. */
function readCell(kind: CellKind, cell: string): Json | undefined {
  if (kind === "text") return cell;
  if (cell === "") return null;
  if (kind === "word") return cell;
  if (kind === "json") return jsonOf(cell);
  if (kind === "number") return Number.isFinite(Number(cell)) ? Number(cell) : undefined;
  return FLAGS.get(cell.toLowerCase()); // spreadsheets write TRUE
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

function jsonOf(cell: string): Json | undefined {
  if (cell === "") return null;
  try {
    return JSON.parse(quoteInexactNumbers(cell).text) as Json;
  } catch {
    return undefined;
  }
}

function rowText(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(guarded(cell))).join(",")}\n`;
}

/**
 * A spreadsheet takes a cell that begins like this (also in full width) for a formula, and item data comes from anywhere. A quote in front
 * makes it text. Cells that begin with quotes and then like this get one more, so that taking one away is always right.
 */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

function guarded(cell: string): string {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}

function plain(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}

function quoted(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
