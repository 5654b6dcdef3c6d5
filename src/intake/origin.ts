/** Records and their origin, and the error that all readers throw for invalid input. */
import { isAscii, isUtf8 } from "node:buffer";
import { RedriveError } from "../errors.ts";
import type { Json } from "../std/json.ts";
import type { InputFormat } from "./input.ts";

export interface Origin {
  /** The path of the input, or `stdin`. */
  readonly name: string;
  readonly format: InputFormat;
  /** Whether the format was detected from the first bytes, which may be wrong. */
  readonly sniffed: boolean;
}

/** A position in the input, counted from 1. For NUL-separated input the line is the number of the record. */
export interface Position {
  readonly line: number;
  readonly column?: number | undefined;
}

/** The maximum size of a record; several copies of it must fit into memory. */
export const RECORD_BYTES_MAX = 64 * 1024 * 1024;

/** Creates an `input_invalid` error whose message starts with `path:line:column`. */
export function invalidInput(
  origin: Origin,
  position: Position,
  problem: string,
  options: { readonly hint: string; readonly cause?: unknown },
): RedriveError {
  const { name, format } = origin;
  const { line, column } = position;
  const at = column === undefined ? `${name}:${line}` : `${name}:${line}:${column}`;
  const detected = ` The format ${format} was detected from the first bytes; give the format explicitly if this is wrong.`;
  return new RedriveError(
    "input_invalid",
    `${format === "null" ? `${name}: record ${line}` : at}: ${problem}`,
    {
      ...(options.cause !== undefined && { cause: options.cause }),
      hint: options.hint + (origin.sniffed ? detected : ""),
    },
  );
}

export function recordTooLong(origin: Origin, line: number): RedriveError {
  return invalidInput(origin, { line }, `longer than ${RECORD_BYTES_MAX / 1024 / 1024} MB`, {
    hint: "Store large data in a file and put its path into the item. Also check the separator.",
  });
}

export interface IntakeRecord {
  readonly data: Json;
  /** The line where the record starts, from 1; for NUL-separated input the number of the record. */
  readonly line: number;
}

/** Reads bytes as runs of records, one run per chunk. A run throws at the first invalid record, after the valid ones. */
export type RecordReader = (
  chunks: AsyncIterable<Buffer>,
  origin: Origin,
) => AsyncIterable<Iterable<IntakeRecord>>;

export function decodeUtf8(bytes: Buffer): string {
  // Decoding Latin-1 is several times faster than UTF-8, and the result is the same for ASCII.
  return bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
}

/** Decodes a record that starts at this line. Throws if it is not UTF-8. */
export function decodeRecord(bytes: Buffer, origin: Origin, line: number): string {
  if (!isUtf8(bytes)) throw notUtf8(origin, line);
  return decodeUtf8(bytes);
}

/** Creates the error for invalid UTF-8. Replacing bytes instead could turn two names into one item. */
export function notUtf8(origin: Origin, line: number): RedriveError {
  const hint =
    origin.format === "null" || origin.format === "lines"
      ? "Rename files whose names are not UTF-8 (for example with convmv), or convert the text: iconv -f LATIN1 -t UTF-8."
      : "Convert the input first: iconv -f LATIN1 -t UTF-8.";
  return invalidInput(origin, { line }, "not valid UTF-8", { hint });
}
