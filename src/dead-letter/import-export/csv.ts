/** Converts letters to and from CSV rows: columns that people can sort, and `details` with all other fields as JSON. */

import type { RedriveError } from "../../errors.ts";
import { CsvRows, type Row, type RowFailure, type RowRun } from "../../intake/csv.ts";
import { wholeLines } from "../../intake/lines.ts";
import { invalidInput } from "../../intake/origin.ts";
import { type Letter, letterToJson } from "../../item/letter.ts";
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from "../../std/json.ts";
import { tryTo } from "../../std/try-to.ts";
import { originOf, type Reading } from "./reading.ts";

/** How a cell is written and parsed. A `text` cell may be empty, a `word` cell may not. */
type CellKind = "text" | "word" | "number" | "flag" | "json";

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
  poison: "flag",
  item_data: "json",
} as const satisfies Readonly<Record<string, CellKind>>;

/** Columns of the last failure, for people. The import ignores them and reads the history from `details`. */
const LAST_FAILURE = ["error_type", "error_class", "error_message"] as const;
const DETAILS = "details";

const FIELD_NAMES = Object.keys(FIELDS) as readonly (keyof typeof FIELDS)[];
const isField = (name: string): name is keyof typeof FIELDS => Object.hasOwn(FIELDS, name);

export const CSV_COLUMNS: readonly string[] = [...FIELD_NAMES, ...LAST_FAILURE, DETAILS];

export const CSV_HEADER: string = `${CSV_COLUMNS.join(",")}\n`;

export function csvRow(letter: Letter): string {
  const json = letterToJson(letter);
  const last = letter.failureHistory.at(-1);
  const lastFailure = last ? [last.errorType.name, last.errorClass, last.errorMessage] : ["", "", ""];
  const details = Object.entries(json).filter(([name, value]) => !isField(name) || !fits(value));
  return rowText([
    ...FIELD_NAMES.map((name) => cellOf(FIELDS[name], json[name])),
    ...lastFailure,
    stringifyJson(Object.fromEntries(details)),
  ]);
}

/** Parses a row into the letter's JSON, or returns the problem. Unknown columns are kept as text. */
export function letterFromRow(columns: readonly string[], cells: readonly string[]): JsonObject | string {
  const fields: Record<string, Json> = {};
  let details: JsonObject = {};
  for (const [index, column] of columns.entries()) {
    const cell = plain(cells[index] ?? "");
    if ((LAST_FAILURE as readonly string[]).includes(column)) continue;
    const value =
      column === DETAILS ? jsonOf(cell) : readCell(isField(column) ? FIELDS[column] : "text", cell);
    if (value === undefined) return `the cell ${column} is invalid: ${cell.slice(0, CELL_SHOWN_MAX)}`;
    if (column !== DETAILS) fields[column] = value;
    else if (isJsonObject(value)) details = value;
  }
  return { ...fields, ...details };
}

const CELL_SHOWN_MAX = 60;

/**
 * Whether the value can be written to a cell. A lone surrogate cannot be written as UTF-8, so it is escaped
 * in the details.
 */
function fits(value: Json): boolean {
  return typeof value !== "string" || !/\p{Cs}/u.test(value);
}

function cellOf(kind: CellKind, value: Json | undefined): string {
  if (value === undefined) return "";
  return kind === "json" ? stringifyJson(value) : String(value);
}

/** Returns null for an absent field, and undefined for an invalid cell. */
function readCell(kind: CellKind, cell: string): Json | undefined {
  if (kind === "text") return cell;
  if (cell === "") return null;
  if (kind === "word") return cell;
  if (kind === "json") return jsonOf(cell);
  if (kind === "number") return Number.isFinite(Number(cell)) ? Number(cell) : undefined;
  const flag = cell.toLowerCase(); // spreadsheets write TRUE
  return flag === "true" || (flag === "false" ? false : undefined);
}

const jsonOf = (cell: string) => (cell === "" ? null : tryTo(() => parseJson(cell)));

function rowText(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(guarded(cell))).join(",")}\n`;
}

/**
 * Spreadsheets interpret such cells (also full-width forms) as formulas. A leading quote makes them text; a cell that begins
 * with quotes gets one more, so that removing one always restores the original.
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

export async function* readCsv(chunks: AsyncIterable<Buffer>, file: string) {
  let header: readonly string[] | undefined;
  for await (const { rows, failure } of runsOf(chunks, file)) {
    header ??= rows.shift()?.fields;
    yield rows.map((row) => readingOf(row, header ?? [], file));
    if (failure !== undefined) throw rowError(failure, file);
  }
}

async function* runsOf(chunks: AsyncIterable<Buffer>, file: string): AsyncGenerator<RowRun> {
  const rows = new CsvRows({ anyLength: true });
  for await (const block of wholeLines(chunks, originOf(file), 0x0a)) yield await rows.push(block.bytes);
  yield await rows.end();
}

/** Ends the import: after an invalid quote, the end of the row is unknown. */
function rowError({ error, line }: RowFailure, file: string): RedriveError {
  return invalidInput(originOf(file), { line }, `invalid CSV: ${error.message}`, {
    hint: "Correct the row and import the file again; letters that exist already are skipped.",
    cause: error,
  });
}

function readingOf({ fields, line }: Row, header: readonly string[], file: string): Reading {
  const location = { file, line };
  if (fields.length !== header.length) {
    return { location, why: `the row has ${fields.length} cells, but the header has ${header.length}` };
  }
  const data = letterFromRow(header, fields);
  if (typeof data === "string") return { location, why: data };
  return { data, location, bytes: fields.reduce((sum, { length }) => sum + length, 0) };
}
