/** Letters of a CSV file with a header. A row that is too short or too long takes no other with it. */
import type { WorkError } from "../../errors.ts";
import { CsvRows, type Row, type RowFailure, type RowRun } from "../../intake/csv-rows.ts";
import { invalidInput } from "../../intake/origin.ts";
import { wholeLines } from "../../intake/whole-lines.ts";
import { letterFromRow } from "./csv-form.ts";
import { originOf } from "./parse-record.ts";
import type { Reading } from "./reading.ts";

/** The first row names the columns. */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  file: string,
): AsyncGenerator<readonly Reading[]> {
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

/** A quote that is wrong: where its row ends cannot be known, so nothing after it can be read. */
function rowError({ error, line }: RowFailure, file: string): WorkError {
  return invalidInput(originOf(file), { line }, `invalid CSV: ${error.message}`, {
    hint: "Correct the row there and import it again; letters that are there already are left alone.",
    cause: error,
  });
}

function readingOf({ fields, line }: Row, header: readonly string[], file: string): Reading {
  const place = { file, line };
  if (fields.length !== header.length) {
    return { place, why: `the row has ${fields.length} cells, the header has ${header.length}` };
  }
  const data = letterFromRow(header, fields);
  if (typeof data === "string") return { place, why: data };
  return { data, place, bytes: fields.reduce((sum, { length }) => sum + length, 0) };
}
