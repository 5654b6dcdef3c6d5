/** Reads CSV with a header row. Every other row is an item: an object of strings. */
import { type CsvError, type InfoRecord, type Parser, parse } from "csv-parse";
import type { RedriveError } from "../errors.ts";
import { wholeLines } from "./lines.ts";
import { type IntakeRecord, invalidInput, type Origin, RECORD_BYTES_MAX, recordTooLong } from "./origin.ts";

/** Reads rows as objects with the names of the header as keys. */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
): AsyncGenerator<Iterable<IntakeRecord>> {
  let header: readonly string[] | undefined;
  for await (const { rows, failure } of runsOf(chunks, origin)) {
    header ??= headerOf(rows.shift(), origin);
    yield rows.map(({ fields, line }) => {
      const values = (header ?? []).map((name, index) => [name, fields[index] ?? ""]);
      return { data: Object.fromEntries(values), line };
    });
    if (failure !== undefined) throw rowError(failure, origin, header?.length ?? 0);
  }
}

async function* runsOf(chunks: AsyncIterable<Buffer>, origin: Origin): AsyncGenerator<RowRun> {
  const rows = new CsvRows();
  try {
    for await (const block of wholeLines(chunks, origin, 0x0a)) yield await rows.push(block.bytes);
  } catch (error) {
    // The parser reads ahead and has not returned the last valid row yet.
    yield { rows: (await rows.end()).rows };
    throw error;
  }
  yield await rows.end();
}

function rowError({ error, line }: RowFailure, origin: Origin, columns: number): RedriveError {
  if (error.code === "CSV_MAX_RECORD_SIZE") return recordTooLong(origin, line);
  const [problem, hint] = problemOf(error, columns);
  return invalidInput(origin, { line }, `invalid CSV: ${problem}`, { hint, cause: error });
}
/** Throws when two columns have the same name. */
function headerOf(row: Row | undefined, origin: Origin): readonly string[] | undefined {
  const repeated = row?.fields.find((name, index) => row.fields.indexOf(name) !== index);
  if (row === undefined || repeated === undefined) return row?.fields;
  throw invalidInput(origin, { line: row.line }, `the header names the column "${repeated}" twice`, {
    hint: "Give every column in the first row a unique name.",
  });
}
function problemOf(error: CsvError, columns: number): Problem {
  if (error.code !== "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH") {
    return PROBLEMS[error.code] ?? [error.message, "Correct the row in the file."];
  }
  const values = Array.isArray(error.record) ? error.record.length : 0;
  const counted = `${values} ${values === 1 ? "value" : "values"}`;
  return [`the row has ${counted}, but the header has ${columns}`, LENGTH_HINT];
}

type Problem = readonly [problem: string, hint: string];

const LENGTH_HINT = "Add or remove values, or quote values that contain a comma.";
const QUOTE_HINT = 'Quote the whole value and double the quotes inside it: "say ""yes""".';

const PROBLEMS: Readonly<Record<string, Problem>> = {
  CSV_QUOTE_NOT_CLOSED: [
    "the input ends inside a quoted value",
    "Close the quote; the file may be truncated.",
  ],
  CSV_INVALID_CLOSING_QUOTE: ["text after the closing quote of a value", QUOTE_HINT],
  INVALID_OPENING_QUOTE: ["a quote in the middle of a value that is not quoted", QUOTE_HINT],
};

export interface Row {
  readonly fields: readonly string[];
  /** The line where the row starts. */
  readonly line: number;
}

/** The completed rows, and the error that stopped reading, with the line where the invalid row starts. */
export interface RowRun {
  readonly rows: Row[];
  readonly failure?: RowFailure;
}

export interface RowFailure {
  readonly error: CsvError;
  readonly line: number;
}

/** Parses bytes into rows with their line numbers, and returns errors as values. */
export class CsvRows {
  readonly #parser: Parser;
  #rows: Row[] = [];
  /** How many lines too many csv-parse has counted: it counts each carriage return inside a value. */
  #linesTooMany = 0;
  #lastRowEnd = 0;
  #emptyLines = 0;

  /** `anyLength` allows rows with fewer or more fields than the first row. Default: such rows are errors. */
  constructor({ anyLength = false }: { readonly anyLength?: boolean } = {}) {
    this.#parser = parse({
      relax_column_count: anyLength,
      record_delimiter: ["\r\n", "\n"],
      skip_empty_lines: true,
      max_record_size: RECORD_BYTES_MAX,
      // Rows are collected here as they are parsed; the output of the parser stays empty.
      on_record: (fields: string[], info: InfoRecord) => this.#keep(fields, info),
    });
    // Errors are handled in the callback of each write; this prevents an unhandled error event.
    this.#parser.on("error", () => {});
    this.#parser.resume();
  }

  push(bytes: Buffer): Promise<RowRun> {
    return new Promise((resolve) => this.#parser.write(bytes, (error) => resolve(this.#take(error))));
  }

  end(): Promise<RowRun> {
    return new Promise((resolve) => this.#parser.end((error?: Error | null) => resolve(this.#take(error))));
  }

  #keep(fields: string[], info: InfoRecord): null {
    this.#linesTooMany += occurrences("\r", fields);
    this.#lastRowEnd = info.lines - this.#linesTooMany;
    this.#emptyLines = info.empty_lines;
    this.#rows.push({ fields, line: this.#lastRowEnd - occurrences("\n", fields) });
    return null;
  }

  #take(error: Error | null | undefined): RowRun {
    const rows = this.#rows;
    this.#rows = [];
    if (!error) return { rows };
    const failure = error as CsvError;
    const emptyLines = Number(failure.empty_lines ?? this.#emptyLines) - this.#emptyLines;
    return { rows, failure: { error: failure, line: this.#lastRowEnd + emptyLines + 1 } };
  }
}

function occurrences(character: string, fields: readonly string[]): number {
  let found = 0;
  for (const field of fields) if (field.includes(character)) found += field.split(character).length - 1;
  return found;
}
