/** What every reader of an import makes: records with their places, and the places of what could not be read. */
import type { Json } from "../../kit/json.ts";

/** One value of a file, before anyone has looked whether it is a letter. */
export interface RawRecord {
  readonly data: Json;
  readonly place: Place;
  /** About how long it is in its file. */
  readonly bytes: number;
  /** The job that its folder belongs to. */
  readonly folderJob?: string;
  /** How many of its numbers JavaScript cannot hold exactly; they are strings now. */
  readonly quotedNumbers?: number;
  /** The same letter was met before, with more known about it. */
  readonly isRepeated?: boolean;
}

/** A file, and a line in it if there are several records in one file. */
export interface Place {
  readonly file: string;
  readonly line?: number;
}

/** Something that cannot come in, and why. */
export interface Refusal {
  readonly place: Place;
  readonly why: string;
}

/** Records and refusals in the order of the file; a run is what the bytes read so far make. */
export type Reading = RawRecord | Refusal;

/** `file:line`. */
export function placeText({ file, line }: Place): string {
  return line === undefined ? file : `${file}:${line}`;
}

export function isRefusal(reading: object): reading is Refusal {
  return "why" in reading;
}
