/** Bytes of CSV to rows. A thin layer over csv-parse that gives each row its line and takes its errors as values. */
import { type CsvError, type InfoRecord, type Parser, parse } from "csv-parse";
import { RECORD_BYTES_MAX } from "./origin.ts";

export interface Row {
  readonly fields: readonly string[];
  /** The line it starts on. */
  readonly line: number;
}

/** The rows that the bytes so far complete, and what ended the reading if something did. */
export interface RowRun {
  readonly rows: Row[];
  readonly failure?: RowFailure;
}

export interface RowFailure {
  readonly error: CsvError;
  /** The line on which the row that is wrong starts; a quote that is left open may end it far below. */
  readonly line: number;
}

export class CsvRows {
  readonly #parser: Parser;
  #rows: Row[] = [];
  /** csv-parse takes a carriage return inside a value for a line of its own. */
  #linesTooMany = 0;
  #lastRowEnd = 0;
  #emptyLines = 0;

  /** `anyLength`: a row may have fewer or more fields than the first. Default: that is a failure. */
  constructor({ anyLength = false }: { readonly anyLength?: boolean } = {}) {
    this.#parser = parse({
      relax_column_count: anyLength,
      record_delimiter: ["\r\n", "\n"],
      skip_empty_lines: true,
      max_record_size: RECORD_BYTES_MAX,
      // Rows are taken here, in the moment they are parsed; the parser's own output stays empty.
      on_record: (fields: string[], info: InfoRecord) => this.#keep(fields, info),
    });
    // The error is taken from the callback of the write that it belongs to.
    this.#parser.on("error", () => {});
    this.#parser.resume();
  }

  /** Parses more bytes. */
  push(bytes: Buffer): Promise<RowRun> {
    return new Promise((resolve) => this.#parser.write(bytes, (error) => resolve(this.#take(error))));
  }

  /** Says that no more bytes come, which completes the last row. */
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
    return error ? { rows, failure: this.#failure(error as CsvError) } : { rows };
  }

  #failure(error: CsvError): RowFailure {
    const emptyLines = Number(error.empty_lines ?? this.#emptyLines) - this.#emptyLines;
    return { error, line: this.#lastRowEnd + emptyLines + 1 };
  }
}

function occurrences(character: string, fields: readonly string[]): number {
  let found = 0;
  for (const field of fields) if (field.includes(character)) found += field.split(character).length - 1;
  return found;
}
