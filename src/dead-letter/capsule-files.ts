/** Unpacks a capsule into a folder of plain files, for editors, `git apply` and other tools. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { WorkError } from "../errors.ts";
import { fileNameOf } from "../item/item.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../std/files.ts";
import { type Json, stringifyJson } from "../std/json.ts";
import { type Capsule, type CapsuleContent, type CapsuleFile, contentBytes } from "./capsule.ts";

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
    await write(`${name}.json`, jsonText(value as Json));
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
    throw new WorkError("usage", `The folder ${folder} cannot be created or read.`, { cause: error });
  }
  throw new WorkError("usage", `The folder ${folder} is not empty.`, {
    hint: "Give a new folder; existing files are never overwritten.",
  });
}

/** The patches that were not omitted because of their size. */
export function patchesOf(changes: Capsule["changes"]): readonly [name: string, patch: CapsuleContent][] {
  const { commits, uncommitted } = changes ?? {};
  const all: [string, CapsuleContent | undefined][] = [
    ["commits", commits],
    ["uncommitted", uncommitted],
  ];
  return all.filter((entry): entry is [string, CapsuleContent] => entry[1]?.dropped_bytes === 0);
}

/** The number keeps files apart that have the same name in different folders. */
function nameOf({ kind, attempt_number, path }: CapsuleFile, index: number): string {
  const attempt = Number.isInteger(attempt_number) ? attempt_number : 0;
  if (kind === "log") return `attempt-${attempt}.log`;
  const what = kind === "json_log" ? "agent" : "evidence";
  return `attempt-${attempt}-${what}-${index + 1}-${fileNameOf(basename(path)) || "file"}`;
}

function jsonText(value: Json): string {
  return `${stringifyJson(value, 2)}\n`;
}
