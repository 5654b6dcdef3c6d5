/**
 * A capsule: one file with all that is needed to look at a failure elsewhere, without the store, the logs and the
 * worktree that it happened in. It is gzipped JSON; this file has its shape, its writer and its reader.
 */
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { WorkError } from "../errors.ts";
import { writeOut } from "../kit/atomic-file.ts";
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";

/** Rises when an older reader would misread a capsule. */
export const CAPSULE_VERSION = 1;

/** The content of a file: as text when it is text, else in Base64. What was too large is said, not cut in silence. */
export type CapsuleContent = {
  readonly encoding: "utf8" | "base64";
  readonly content: string;
  /** Of the whole file. */
  readonly bytes: number;
  /** How many of them, in the middle of a log, are not here. */
  readonly dropped_bytes: number;
};

/** A file of an attempt: its log, an agent's own log, or a file that the command named as evidence. */
export type CapsuleFile = CapsuleContent & {
  readonly kind: "log" | "json_log" | "evidence";
  readonly attempt_number: number;
  /** Where it was. */
  readonly path: string;
};

/** What the attempt had changed in its worktree. */
export type CapsuleChanges = {
  readonly worktree_path: string;
  readonly branch_name: string;
  /** The commit that the patches begin from, and the one that HEAD was at. */
  readonly base: string | null;
  readonly head: string | null;
  /** Commits that the job's branch does not have, for `git am`. */
  readonly commits?: CapsuleContent;
  /** What was not committed, new files too, for `git apply`. */
  readonly uncommitted?: CapsuleContent;
};

/** The document in the file. Letters, attempts and events have the form that they have everywhere. */
export type Capsule = {
  readonly capsule: number;
  readonly made_at: string;
  readonly redrive_version: string;
  readonly machine: { readonly platform: string; readonly arch: string; readonly node: string };
  /** Of the folder that the job ran in; null when it is in no repository. */
  readonly git: { readonly top: string; readonly head: string; readonly branch: string | null } | null;
  readonly job: JsonObject;
  /** Variables of whoever made the capsule: those of a short list, and those that were asked for. */
  readonly environment: { readonly [name: string]: string };
  readonly letter: JsonObject;
  readonly attempts: readonly JsonObject[];
  readonly events: readonly JsonObject[];
  readonly files: readonly CapsuleFile[];
  readonly changes: CapsuleChanges | null;
  /** What could not be taken in, in sentences. */
  readonly missing: readonly string[];
};

/** Writes the file whole or not at all; returns its size. */
export async function writeCapsule(path: string, capsule: Capsule): Promise<number> {
  const packed = await promisify(gzip)(Buffer.from(JSON.stringify(capsule)));
  try {
    await writeOut(path, packed);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WorkError("usage", `The capsule ${path} cannot be written: ${reason}.`, { cause: error });
  }
  return packed.length;
}

/** A file that is damaged, or something else, is an error that says so. */
export async function readCapsule(path: string): Promise<Capsule> {
  const json = parse(path, await unpack(path));
  if (!isJsonObject(json) || typeof json.capsule !== "number") throw notOne(path, "it has no capsule in it");
  if (json.capsule > CAPSULE_VERSION) {
    throw new WorkError("input_invalid", `The capsule ${path} was made by a newer version of Redrive.`, {
      hint: `Open it with version ${String(json.redrive_version)} or later.`,
    });
  }
  const absent = FIELDS.filter((name) => json[name] === undefined);
  if (absent.length > 0) throw notOne(path, `it lacks ${absent.join(", ")}`);
  if (!isJsonObject(json.letter)) throw notOne(path, "it has no letter in it");
  return json as unknown as Capsule;
}

const FIELDS = ["letter", "job", "attempts", "events", "files", "environment", "machine"] as const;

/** The bytes of a content. */
export function contentBytes({ encoding, content }: CapsuleContent): Buffer {
  return Buffer.from(content, encoding);
}

async function unpack(path: string): Promise<Buffer> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "ENOENT" ? "there is no such file" : error.message;
    throw new WorkError("usage", `The capsule ${path} cannot be read: ${reason}.`, { cause: error });
  });
  if (bytes[0] === 0x7b) return bytes; // `{`: somebody has unpacked it
  return promisify(gunzip)(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }).catch((error: unknown) => {
    throw notOne(path, "it is not gzipped, or damaged", error);
  });
}

/** A file of a few bytes could unpack to more than memory holds. */
const UNPACKED_BYTES_MAX = 512 * 1024 * 1024;

function parse(path: string, bytes: Buffer): Json {
  try {
    return JSON.parse(bytes.toString()) as Json;
  } catch (error) {
    throw notOne(path, "what is in it is not JSON", error);
  }
}

function notOne(path: string, why: string, cause?: unknown): WorkError {
  return new WorkError("input_invalid", `${path} is no capsule: ${why}.`, {
    cause,
    hint: "A capsule is a file that `redrive dlq capsule ITEM` has written.",
  });
}
