/** Reads JSON Lines or CSV row by row. Invalid rows are returned as such; reading stops only at unreadable input. */
import { RedriveError } from "../errors.ts";
import type { Row } from "../intake/csv.ts";
import type { Input } from "../intake/input.ts";
import { linesOf, wholeLines } from "../intake/lines.ts";
import type { Origin } from "../intake/origin.ts";
import { parseInputJson } from "../intake/parse-json.ts";
import type { Json } from "../std/json.ts";

export const ITEM_FORMATS = ["jsonl", "csv"] as const;
/** One of `ITEM_FORMATS`. */
export type ItemFormat = (typeof ITEM_FORMATS)[number];

export type RowRecord =
  | { readonly ok: true; readonly line: number; readonly data: Json }
  /** `isEnd` means that the rest of the input cannot be read. */
  | { readonly ok: false; readonly line: number; readonly reason: string; readonly isEnd?: boolean };

type RowsOptions = { readonly format: ItemFormat; readonly isTyped: boolean };

export async function* readRows(input: Input, { format, isTyped }: RowsOptions): AsyncGenerator<RowRecord> {
  const origin: Origin = { name: input.name, format, sniffed: false };
  const lines = { last: 0 };
  try {
    if (format === "csv") yield* csvRows(input, { origin, isTyped, lines });
    else yield* jsonRows(input, origin, lines);
  } catch (error) {
    // After a line that is too long or not UTF-8, the start of the next line is unknown.
    if (!(error instanceof RedriveError) || error.code !== "input_invalid") throw error;
    const line = lineIn(error.message, origin);
    yield { ok: false, line: line ?? lines.last + 1, reason: reasonIn(error.message, origin), isEnd: true };
  }
}

type Lines = { last: number };

async function* jsonRows({ chunks }: Input, origin: Origin, lines: Lines): AsyncGenerator<RowRecord> {
  for await (const block of wholeLines(chunks, origin, 0x0a)) {
    for (const { data: text, line } of linesOf(block)) {
      lines.last = line;
      if (text.trim() !== "") yield jsonRow(text, line, origin);
    }
  }
}

function jsonRow(text: string, line: number, origin: Origin): RowRecord {
  try {
    return { ok: true, line, data: parseInputJson(text, origin, { line, column: 1 }) };
  } catch (error) {
    if (!(error instanceof RedriveError)) throw error;
    return { ok: false, line, reason: reasonIn(error.message, origin) };
  }
}

type CsvOptions = { readonly origin: Origin; readonly isTyped: boolean; readonly lines: Lines };

async function* csvRows(
  { chunks }: Input,
  { origin, isTyped, lines }: CsvOptions,
): AsyncGenerator<RowRecord> {
  const { CsvRows } = await import("../intake/csv.ts"); // loaded only for CSV input
  const parser = new CsvRows({ anyLength: true });
  let header: readonly string[] | undefined;
  const take = function* (rows: readonly Row[]): Generator<RowRecord> {
    for (const row of rows) {
      lines.last = row.line;
      if (header !== undefined) yield csvRow(row, header, isTyped);
      else header = requireHeader(row, origin);
    }
  };
  for await (const block of wholeLines(chunks, origin, 0x0a)) {
    const { rows, failure } = await parser.push(block.bytes);
    yield* take(rows);
    if (failure !== undefined) return yield csvEnd(failure.line);
  }
  const { rows, failure } = await parser.end();
  yield* take(rows);
  if (failure !== undefined) yield csvEnd(failure.line);
}

function csvEnd(line: number): RowRecord {
  return { ok: false, line, reason: "a quote is misplaced or not closed", isEnd: true };
}

function requireHeader({ fields, line }: Row, { name }: Origin): readonly string[] {
  const repeated = fields.find((one, index) => fields.indexOf(one) !== index);
  if (repeated === undefined) return fields;
  throw new RedriveError("usage", `${name}:${line}: the header contains the column "${repeated}" twice.`, {
    hint: "Give every column in the first row a unique name.",
  });
}

function csvRow({ fields, line }: Row, header: readonly string[], isTyped: boolean): RowRecord {
  if (fields.length !== header.length) {
    const values = fields.length === 1 ? "1 value" : `${fields.length} values`;
    return { ok: false, line, reason: `it has ${values}, but the header has ${header.length}` };
  }
  const entries = header.map((name, index) => [name, typedValue(fields[index] ?? "", isTyped)]);
  return { ok: true, line, data: Object.fromEntries(entries) as Json };
}

/** Numbers that would not be written back unchanged, such as 007 or 1e400, stay strings: they are probably identifiers. */
function typedValue(text: string, isTyped: boolean): Json {
  if (!isTyped) return text;
  if (text === "true" || text === "false") return text === "true";
  if (text === "null") return null;
  const isNumber = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(text);
  return isNumber ? Number(text) : text;
}

function reasonIn(message: string, { name }: Origin): string {
  return message.startsWith(`${name}:`) ? message.slice(name.length + 1).replace(/^[\d:]+\s*/, "") : message;
}

function lineIn(message: string, { name }: Origin): number | undefined {
  const line = /^(\d+)/.exec(message.slice(name.length + 1))?.[1];
  return message.startsWith(`${name}:`) && line !== undefined ? Number(line) : undefined;
}
