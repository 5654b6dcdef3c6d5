/** The result of all import readers: records with their locations, and refusals. */

import { RedriveError } from "../../errors.ts";
import type { Origin } from "../../intake/origin.ts";
import { parseInputJson } from "../../intake/parse-json.ts";
import type { Json } from "../../std/json.ts";

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

/** Formats a position as `file:line`. */
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
