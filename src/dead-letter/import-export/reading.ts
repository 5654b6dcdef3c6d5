/** The formats of letter files, how they are recognized, and the result of all import readers: records and refusals. */
import { RedriveError } from "../../errors.ts";
import type { Origin } from "../../intake/origin.ts";
import { parseInputJson } from "../../intake/parse-json.ts";
import type { Json } from "../../std/json.ts";

/**
 * `json`: one document `{items, total}`. `jsonl`: one letter per line. `csv`: one letter per row.
 * `error-body`: one failure per line, in the format of Power Automate's error queues. `receipts`: one array
 * of undelivered receipts, like `receipts.json`. `directory`: one file per letter.
 */
export const EXPORT_FORMATS = ["json", "jsonl", "csv", "error-body", "receipts", "directory"] as const;
/** One of `EXPORT_FORMATS`. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Every export format can be imported. */
export const IMPORT_FORMATS = EXPORT_FORMATS;
/** One of `IMPORT_FORMATS`. */
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

export type Compression = "none" | "gzip" | "zstd";

export function compressionOfName(path: string): Compression {
  if (/\.gz$/i.test(path)) return "gzip";
  return /\.zst$/i.test(path) ? "zstd" : "none";
}

/** Detects the format by the file name without its compression suffix; undefined if the name has no known suffix. */
export function formatOfName(path: string): Exclude<ExportFormat, "error-body" | "receipts"> | undefined {
  if (path.endsWith("/")) return "directory";
  const name = path.replace(/\.(gz|zst)$/i, "").toLowerCase();
  if (name.endsWith(".json")) return "json";
  if (name.endsWith(".jsonl") || name.endsWith(".ndjson")) return "jsonl";
  return name.endsWith(".csv") ? "csv" : undefined;
}

/** Detects the compression by the first bytes, so that a renamed file is still recognized. */
export function compressionOfBytes(head: Buffer): Compression {
  const magic = head.toString("hex", 0, 4);
  if (magic.startsWith("1f8b")) return "gzip";
  return magic === "28b52ffd" ? "zstd" : "none";
}

export interface RawRecord {
  readonly data: Json;
  readonly location: RecordLocation;
  readonly bytes: number;
  readonly folderJob?: string;
  /** Whether another file already contained this letter with more details. */
  readonly isRepeated?: boolean;
}

export type RecordLocation = { readonly file: string; readonly line?: number };
export type Refusal = { readonly location: RecordLocation; readonly why: string };

export type Reading = RawRecord | Refusal;

export function locationText({ file, line }: RecordLocation): string {
  return line === undefined ? file : `${file}:${line}`;
}

export function isRefusal(reading: object): reading is Refusal {
  return "why" in reading;
}

export function parseRecord(text: string, location: RecordLocation, bytes: number): Reading {
  try {
    const data = parseInputJson(text, originOf(location.file), { line: location.line ?? 1 });
    return { data, location, bytes };
  } catch (error) {
    return refusalOf(error, location);
  }
}

export function originOf(file: string): Origin {
  return { name: file, format: "json", sniffed: false };
}

/** Turns a `RedriveError` into a refusal, and removes the location from the beginning of its message. */
export function refusalOf(error: unknown, location: RecordLocation): Reading {
  if (!(error instanceof RedriveError)) throw error;
  const { file } = location;
  const line = error.message.startsWith(`${file}:`) ? /^:(\d+)/.exec(error.message.slice(file.length)) : null;
  const at = line === null ? location : { file, line: Number(line[1]) };
  const message = error.message.startsWith(file)
    ? error.message.slice(file.length).replace(/^(:\d+)*: /, "")
    : error.message;
  return { location: at, why: message };
}
