/**
 * Reads letter directories written by Redrive, Prodigy or mmm, one letter at a time. An invalid letter is an
 * error.
 */
import { opendir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { WorkError } from "../errors.ts";
import { type Letter, letterFromJson } from "../item/letter.ts";
import { isJsonObject, parseJson } from "../std/json.ts";
import { ignoresCase, itemFileName } from "./directory.ts";

/**
 * Reads the letters of every job below a folder: the folder of one job, a root with several, or a whole
 * Prodigy home (`dlq/{repo}/{job}/mapreduce/dlq/{job}`). Letters listed in the index come first, in that
 * order. A letter without a job id gets the one of its index or folder.
 */
export async function* readDirectory(folder: string): AsyncGenerator<Letter> {
  let found = false;
  for await (const one of letterFolders(folder)) {
    found = true;
    yield* readFolder(one);
  }
  if (found) return;
  throw new WorkError("input_invalid", `${folder} is not a letter directory: it has no folder items.`, {
    hint: "Give the folder of a job, which contains items/ and index.json, or a folder above it.",
  });
}

/** Deeper than any known layout. */
const DEPTH_MAX = 8;

/** Finds folders that contain `items`, sorted by name. Symbolic links are not followed. */
async function* letterFolders(folder: string, depth = 0): AsyncGenerator<string> {
  const inside: string[] = [];
  for await (const entry of await opendirIn(folder)) if (entry.isDirectory()) inside.push(entry.name);
  if (inside.includes("items")) return yield folder;
  if (depth === DEPTH_MAX) return;
  for (const name of inside.filter((one) => !one.startsWith(".")).sort()) {
    yield* letterFolders(join(folder, name), depth + 1);
  }
}

async function opendirIn(folder: string) {
  try {
    return await opendir(folder);
  } catch (error) {
    throw new WorkError("input_invalid", `The folder ${folder} cannot be read.`, { cause: error });
  }
}

async function* readFolder(folder: string): AsyncGenerator<Letter> {
  const index = await readIndex(folder);
  const jobId = index?.jobId || basename(folder);
  for await (const name of itemNames(folder, index?.itemIds ?? [])) {
    const letter = await readLetter(join(folder, "items", name));
    if (letter !== null) yield ofJob(letter, jobId);
  }
}

export interface FolderIndex {
  readonly jobId: string;
  readonly itemIds: readonly string[];
  readonly cursor?: number;
}

/** Returns null if the index is missing or invalid: its content can be derived from the folder. */
export async function readIndex(folder: string): Promise<FolderIndex | null> {
  const text = await readFile(join(folder, "index.json"), "utf8").catch(() => null);
  const json = text === null ? null : parse(text);
  if (!isJsonObject(json)) return null;
  const ids = Array.isArray(json.item_ids) ? json.item_ids : [];
  return {
    jobId: typeof json.job_id === "string" ? json.job_id : "",
    itemIds: ids.filter((id): id is string => typeof id === "string"),
    ...(typeof json.cursor === "number" && { cursor: json.cursor }),
  };
}

/** The files listed in the index first, then the others. */
async function* itemNames(folder: string, itemIds: readonly string[]): AsyncGenerator<string> {
  const there = new Set<string>();
  for await (const { name } of await opendir(join(folder, "items"))) {
    if (!name.startsWith(".") && name.endsWith(".json")) there.add(name);
  }
  const ignoreCase = ignoresCase(folder);
  for (const id of itemIds) {
    // Prodigy and mmm do not encode ids.
    for (const name of [itemFileName(id, ignoreCase), `${id}.json`]) if (there.delete(name)) yield name;
  }
  yield* [...there].sort();
}

/** Returns null if the file was removed after the folder was listed. */
async function readLetter(path: string): Promise<Letter | null> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new WorkError("input_invalid", `${path} cannot be read.`, { cause: error });
  });
  if (text === null) return null;
  const json = parse(text);
  if (isJsonObject(json) && typeof json.item_id === "string") return letterFromJson(json);
  throw new WorkError(
    "input_invalid",
    `${path} is not a letter: ${json === undefined ? "it is not JSON" : "it has no item_id"}.`,
    { hint: "Correct or remove the file, then run the command again." },
  );
}

function ofJob(letter: Letter, jobId: string): Letter {
  const id = letter.jobId || jobId;
  return { ...letter, jobId: id, queue: letter.queue || id };
}

/** Returns undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return parseJson(text) as unknown;
  } catch {
    return undefined;
  }
}
