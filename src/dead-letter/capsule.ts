/** A capsule is one gzipped JSON file with everything needed to examine a letter on another machine. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { RedriveError } from "../errors.ts";
import { fileNameOf } from "../item/item.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER, writeOut } from "../std/files.ts";
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from "../std/json.ts";
import { codeOf, messageOf } from "../std/thrown.ts";

/** The format version. Increased when older versions of Redrive cannot read the format. */
export const CAPSULE_VERSION = 1;

/** The content of a file as text, or in Base64 if it is binary. Omitted bytes are counted. */
export type CapsuleContent = {
  readonly encoding: "utf8" | "base64";
  readonly content: string;
  readonly bytes: number;
  /** How many bytes are omitted from the middle of a log. */
  readonly dropped_bytes: number;
};

export type CapsuleFile = CapsuleContent & {
  readonly kind: "log" | "json_log" | "evidence";
  readonly attempt_number: number;
  readonly path: string;
};

export type CapsuleChanges = {
  readonly worktree_path: string;
  readonly branch_name: string;
  /** The commit that the patches apply to, and the commit of HEAD. */
  readonly base: string | null;
  readonly head: string | null;
  /** Commits that the job's branch does not contain, for `git am`. */
  readonly commits?: CapsuleContent;
  /** Uncommitted changes including new files, for `git apply`. */
  readonly uncommitted?: CapsuleContent;
};

/** The document in the file. Letters, attempts and events have their usual JSON form. */
export type Capsule = {
  readonly capsule: number;
  readonly made_at: string;
  readonly redrive_version: string;
  readonly machine: { readonly platform: string; readonly arch: string; readonly node: string };
  /** The repository of the folder that the job ran in; null outside a repository. */
  readonly git: { readonly top: string; readonly head: string; readonly branch: string | null } | null;
  readonly job: JsonObject;
  /** Environment variables of the process that made the capsule: a short default list, and the requested ones. */
  readonly environment: { readonly [name: string]: string };
  readonly letter: JsonObject;
  readonly attempts: readonly JsonObject[];
  readonly events: readonly JsonObject[];
  readonly files: readonly CapsuleFile[];
  readonly changes: CapsuleChanges | null;
  /** One sentence for each part that could not be included. */
  readonly missing: readonly string[];
};

/** Writes the complete file or nothing; returns its size. */
export async function writeCapsule(path: string, capsule: Capsule): Promise<number> {
  const packed = await promisify(gzip)(Buffer.from(stringifyJson(capsule)));
  await writeOut(path, packed).catch((cause: unknown) => {
    throw new RedriveError("usage", `The capsule ${path} cannot be written: ${messageOf(cause)}.`, { cause });
  });
  return packed.length;
}

/** Throws `input_invalid` if the file is damaged or not a capsule. */
export async function readCapsule(path: string): Promise<Capsule> {
  const json = parse(path, await unpack(path));
  if (!isJsonObject(json) || typeof json.capsule !== "number")
    throw notACapsule(path, "it contains no capsule");
  if (json.capsule > CAPSULE_VERSION) {
    throw new RedriveError("input_invalid", `The capsule ${path} was made by a newer version of Redrive.`, {
      hint: `Open it with version ${String(json.redrive_version)} or later.`,
    });
  }
  const absent = FIELDS.filter((name) => json[name] === undefined);
  if (absent.length > 0) throw notACapsule(path, `it lacks ${absent.join(", ")}`);
  if (!isJsonObject(json.letter)) throw notACapsule(path, "it contains no letter");
  return json as unknown as Capsule;
}

const FIELDS = ["letter", "job", "attempts", "events", "files", "environment", "machine"] as const;

export function contentBytes({ encoding, content }: CapsuleContent): Buffer {
  return Buffer.from(content, encoding);
}

async function unpack(path: string): Promise<Buffer> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    const reason = codeOf(cause) === "ENOENT" ? "there is no such file" : messageOf(cause);
    throw new RedriveError("usage", `The capsule ${path} cannot be read: ${reason}.`, { cause });
  });
  if (bytes[0] === 0x7b) return bytes; // `{`: the file is already unpacked
  return promisify(gunzip)(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }).catch((error: unknown) => {
    throw notACapsule(path, "it is not a gzip file or is damaged", error);
  });
}

/** Limits memory use: a small file could unpack to more than fits into memory. */
const UNPACKED_BYTES_MAX = 512 * 1024 * 1024;

function parse(path: string, bytes: Buffer): Json {
  try {
    return parseJson(bytes.toString()) as Json;
  } catch (error) {
    throw notACapsule(path, "its content is not JSON", error);
  }
}

function notACapsule(path: string, why: string, cause?: unknown): RedriveError {
  return new RedriveError("input_invalid", `${path} is not a capsule: ${why}.`, {
    cause,
    hint: "Run `redrive dlq capsule ITEM` to create a capsule.",
  });
}

/** Writes to a new or empty folder. Names are encoded, so that they cannot leave it. */
export async function unpackCapsule(capsule: Capsule, folder: string): Promise<readonly string[]> {
  await requireEmpty(folder);
  const written: string[] = [];
  const write = async (name: string, content: string | Uint8Array) => {
    await writeFile(join(folder, name), content, { flag: "wx", mode: PRIVATE_FILE });
    written.push(name);
  };
  const { job, environment, letter, attempts, events, changes, files } = capsule;
  for (const [name, value] of Object.entries({ letter, job, environment, attempts, events })) {
    await write(`${name}.json`, `${stringifyJson(value, 2)}\n`);
  }
  for (const [name, patch] of patchesOf(changes)) await write(`${name}.patch`, contentBytes(patch));
  for (const [index, file] of files.entries()) await write(nameOf(file, index), contentBytes(file));
  return written;
}

async function requireEmpty(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    if ((await readdir(folder)).length === 0) return;
  } catch (error) {
    throw new RedriveError("usage", `The folder ${folder} cannot be created or read.`, { cause: error });
  }
  throw new RedriveError("usage", `The folder ${folder} is not empty.`, {
    hint: "Give a new folder; existing files are never overwritten.",
  });
}

/** The patches that were not omitted because of their size. */
export function patchesOf(changes: Capsule["changes"]): readonly (readonly [string, CapsuleContent])[] {
  const all = Object.entries({ commits: changes?.commits, uncommitted: changes?.uncommitted });
  return all.flatMap(([name, patch]) => (patch?.dropped_bytes === 0 ? [[name, patch] as const] : []));
}

/** Numbers the files, because files from different folders may have the same name. */
function nameOf({ kind, attempt_number, path }: CapsuleFile, index: number): string {
  const attempt = Number.isInteger(attempt_number) ? attempt_number : 0;
  if (kind === "log") return `attempt-${attempt}.log`;
  const what = kind === "json_log" ? "agent" : "evidence";
  return `attempt-${attempt}-${what}-${index + 1}-${fileNameOf(basename(path)) || "file"}`;
}
