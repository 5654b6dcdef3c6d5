/** Where a record came from, and the one way in which every reader says that an input is wrong. */
import { WorkError } from "../errors.ts";
import type { InputFormat } from "./format.ts";

export interface Origin {
  /** How messages name the input: its path, or `stdin`. */
  readonly name: string;
  readonly format: InputFormat;
  /** True when the format was concluded from the first bytes, which can be wrong. */
  readonly sniffed: boolean;
}

/** A place in the input, counted from 1. For NUL-separated input the line is the number of the record. */
export interface Place {
  readonly line: number;
  readonly column?: number | undefined;
}

/** No record may be larger: it has to fit into memory, several times over. */
export const RECORD_BYTES_MAX = 64 * 1024 * 1024;

/** An `input_invalid` error whose message starts with `path:line:column`. */
export function invalidInput(
  origin: Origin,
  place: Place,
  problem: string,
  options: { readonly hint: string; readonly cause?: unknown },
): WorkError {
  const doubt = origin.sniffed
    ? ` The input was read as ${origin.format} because of how it begins; name the format if it is another.`
    : "";
  return new WorkError("input_invalid", `${placeText(origin, place)}: ${problem}`, {
    ...(options.cause === undefined ? {} : { cause: options.cause }),
    hint: options.hint + doubt,
  });
}

/** The error for a record that does not fit. */
export function recordTooLong(origin: Origin, line: number): WorkError {
  return invalidInput(origin, { line }, `longer than ${RECORD_BYTES_MAX / 1024 / 1024} MB`, {
    hint: "Store the large data in a file and let the item name that file. Is the separator the right one?",
  });
}

function placeText({ name, format }: Origin, { line, column }: Place): string {
  if (format === "null") return `${name}: record ${line}`;
  return column === undefined ? `${name}:${line}` : `${name}:${line}:${column}`;
}
