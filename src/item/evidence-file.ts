/**
 * A file that shows what happened, such as a screenshot or a dump, as the record of a failure names it. The record tells
 * from any machine what was there; it never has the file's content.
 */
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";
import { compact, reader } from "./record.ts";

/** One file of evidence. What comes from elsewhere may have nothing but a path. */
export interface EvidenceFile {
  /** Absolute, on the machine that had it; what came from elsewhere has the path that it came with. */
  readonly path: string;
  /** Of its content when it was recorded, in hexadecimal digits. */
  readonly sha256?: string;
  readonly bytes?: number;
  readonly mediaType?: string;
  /** The machine that had it. */
  readonly host?: string;
  /** It was not there when the attempt ended. */
  readonly missing?: true;
  /** Where its copy is, on the same machine. */
  readonly kept?: string;
  /** Why there is no digest or no copy of it, in words that follow "it". */
  readonly problem?: string;
}

export function evidenceFileToJson(file: EvidenceFile): JsonObject {
  return compact({
    path: file.path,
    sha256: file.sha256,
    bytes: file.bytes,
    media_type: file.mediaType,
    host: file.host,
    missing: file.missing,
    kept: file.kept,
    problem: file.problem,
  });
}

/** Reads the form of today, and a plain path, which was the form before; undefined when it is neither. */
export function evidenceFileFromJson(json: Json): EvidenceFile | undefined {
  if (typeof json === "string") return { path: json };
  if (!isJsonObject(json)) return undefined;
  const read = reader(json);
  const path = read.text("path");
  if (path === undefined) return undefined;
  return compact({
    path,
    sha256: read.text("sha256"),
    bytes: read.number("bytes"),
    mediaType: read.text("media_type"),
    host: read.text("host"),
    missing: read.flag("missing") === true ? (true as const) : undefined,
    kept: read.text("kept"),
    problem: read.text("problem"),
  });
}

/** True for a list that can be read without losing an entry. */
export function isEvidenceList(json: Json): boolean {
  return Array.isArray(json) && json.every((entry: Json) => evidenceFileFromJson(entry) !== undefined);
}
