/** In what form the records of a file stand, told from its first bytes: the name may be wrong, or missing on a stream. */
import { BYTE, skipMark, skipSpace } from "../../intake/json-bytes.ts";
import { isJsonObject } from "../../kit/json.ts";
import { formatOfName, type ImportFormat } from "./format.ts";
import { itemsAt } from "./items-field.ts";

/** An array, an object with an array `items`, one object, an object a line, rows. */
export type Container = "array" | "document" | "single" | "lines" | "csv";

/** The beginning of a file. */
export interface Head {
  readonly bytes: Buffer;
  /** True when there is no more of it. */
  readonly isAll: boolean;
}

/** Undefined when nothing is recognised. */
export function containerOf(head: Head, file: string, format?: ImportFormat): Container | undefined {
  if (format === "csv") return "csv";
  if (format === "jsonl") return "lines";
  const { bytes } = head;
  const start = skipSpace(bytes, skipMark(bytes));
  if (start === bytes.length) return "lines"; // nothing is there: no letters
  if (bytes[start] === BYTE.openArray) return "array";
  if (bytes[start] === BYTE.openObject) return containerOfObject(head, start);
  const named = formatOfName(file);
  if (named === "jsonl") return "lines";
  if (named === "csv" || /(^|[,"])item_id([,"\r\n]|$)/.test(firstLine(bytes, start))) return "csv";
  return undefined;
}

function containerOfObject({ bytes, isAll }: Head, start: number): Container {
  if (itemsAt(bytes) !== undefined) return "document";
  const line = firstLine(bytes, start);
  if (isObject(line)) return "lines";
  if (isAll && isObject(bytes.toString("utf8", start))) return "single";
  // An object that is spread over lines breaks off where a line of its own would not.
  return /[{[,]\s*$/.test(line) && line.length < bytes.length - start ? "single" : "lines";
}

function firstLine(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(BYTE.lineFeed, start);
  return bytes.toString("utf8", start, end < 0 ? bytes.length : end);
}

function isObject(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}
