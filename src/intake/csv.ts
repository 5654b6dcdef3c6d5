/** CSV with a header row: every row is an item, an object of strings. `csv-rows.ts` reads the rows, this file names them. */
import type { CsvError } from "csv-parse";
import type { WorkError } from "../errors.ts";
import { CsvRows, type Row, type RowFailure, type RowRun } from "./csv-rows.ts";
import { invalidInput, type Origin, recordTooLong } from "./origin.ts";
import type { IntakeRecord } from "./record.ts";
import { wholeLines } from "./whole-lines.ts";

/** Reads rows as objects whose keys are the names in the header. */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
): AsyncGenerator<Iterable<IntakeRecord>> {
  let header: readonly string[] | undefined;
  for await (const { rows, failure } of runsOf(chunks, origin)) {
    header ??= headerOf(rows.shift(), origin);
    yield rows.map((row) => recordOf(row, header ?? []));
    if (failure !== undefined) throw rowError(failure, origin, header?.length ?? 0);
  }
}

async function* runsOf(chunks: AsyncIterable<Buffer>, origin: Origin): AsyncGenerator<RowRun> {
  const rows = new CsvRows();
  try {
    for await (const block of wholeLines(chunks, origin, 0x0a)) yield await rows.push(block.bytes);
  } catch (error) {
    // The parser looks ahead and still has the last good row.
    yield { rows: (await rows.end()).rows };
    throw error;
  }
  yield await rows.end();
}

function headerOf(row: Row | undefined, origin: Origin): readonly string[] | undefined {
  const repeated = row?.fields.find((name, index) => row.fields.indexOf(name) !== index);
  if (row === undefined || repeated === undefined) return row?.fields;
  throw invalidInput(origin, { line: row.line }, `the header names the column "${repeated}" twice`, {
    hint: "Give every column a name of its own in the first row.",
  });
}

function recordOf(row: Row, header: readonly string[]): IntakeRecord {
  return {
    data: Object.fromEntries(header.map((name, index) => [name, row.fields[index] ?? ""])),
    line: row.line,
  };
}

function rowError({ error, line }: RowFailure, origin: Origin, columns: number): WorkError {
  if (error.code === "CSV_MAX_RECORD_SIZE") return recordTooLong(origin, line);
  const [problem, hint] = problemOf(error, columns);
  return invalidInput(origin, { line }, `invalid CSV: ${problem}`, { hint, cause: error });
}

function problemOf(error: CsvError, columns: number): Problem {
  if (error.code !== "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH") {
    return PROBLEMS[error.code] ?? [error.message, "Correct the row there."];
  }
  const values = Array.isArray(error.record) ? error.record.length : 0;
  return [
    `the row has ${values} ${values === 1 ? "value" : "values"}, the header has ${columns}`,
    LENGTH_HINT,
  ];
}

type Problem = readonly [problem: string, hint: string];

const LENGTH_HINT = "Add or remove values, or put the ones that contain a comma into quotes.";
const QUOTE_HINT = 'Put the whole value into quotes and double the quotes in it: "say ""yes""".';

const PROBLEMS: Readonly<Record<string, Problem>> = {
  CSV_QUOTE_NOT_CLOSED: ["the input ends inside a quoted value", "Close the quote; the file may be cut off."],
  CSV_INVALID_CLOSING_QUOTE: ["a quoted value goes on after its closing quote", QUOTE_HINT],
  INVALID_OPENING_QUOTE: ["a quote in the middle of a value that is not quoted", QUOTE_HINT],
};
