/** What all import readers produce: records with their locations, and refusals. */

import { WorkError } from "../../errors.ts";
import type { Origin } from "../../intake/origin.ts";
import { parseInputJson } from "../../intake/parse-json.ts";
import type { Json } from "../../std/json.ts";

/** One value of a file, not validated yet. */
export interface RawRecord {
  readonly data: Json;
  readonly place: Place;
  /** Its approximate size in the file. */
  readonly bytes: number;
  readonly folderJob?: string;
  /** Whether the same letter was read before with more details. */
  readonly isRepeated?: boolean;
}

/** A file, and a line if the file contains several records. */
export interface Place {
  readonly file: string;
  readonly line?: number;
}

/** A record that cannot be imported, and the reason. */
export interface Refusal {
  readonly place: Place;
  readonly why: string;
}

export type Reading = RawRecord | Refusal;

/** `file:line`. */
export function placeText({ file, line }: Place): string {
  return line === undefined ? file : `${file}:${line}`;
}

export function isRefusal(reading: object): reading is Refusal {
  return "why" in reading;
}

/** Parses a record with the same rules as items. */
export function parseRecord(text: string, place: Place, bytes: number): Reading {
  try {
    const data = parseInputJson(text, originOf(place.file), { line: place.line ?? 1 });
    return { data, place, bytes };
  } catch (error) {
    return refusalOf(error, place);
  }
}

/** The origin that the item readers need for a file. */
export function originOf(file: string): Origin {
  return { name: file, format: "json", sniffed: false };
}

/** Turns an operating error into a refusal, and removes the location from the beginning of its message. */
export function refusalOf(error: unknown, place: Place): Reading {
  if (!(error instanceof WorkError)) throw error;
  const { file } = place;
  const line = error.message.startsWith(`${file}:`) ? /^:(\d+)/.exec(error.message.slice(file.length)) : null;
  const at = line === null ? place : { file, line: Number(line[1]) };
  const message = error.message.startsWith(file)
    ? error.message.slice(file.length).replace(/^(:\d+)*: /, "")
    : error.message;
  return { place: at, why: message };
}
