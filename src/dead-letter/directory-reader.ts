/** Reads letter directories, of this program or of its predecessors Prodigy and mmm: letters one at a time, whole or an error. */
import { opendir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { WorkError } from "../errors.ts";
import { type Letter, letterFromJson } from "../item/letter.ts";
import { isJsonObject } from "../kit/json.ts";
import { isCaseBlind, itemFileName } from "./directory-name.ts";

/**
 * The letters of every job under a folder: the folder of one job, a root with several, or a whole home of Prodigy
 * (`dlq/{repo}/{job}/mapreduce/dlq/{job}`). Those that the index names come first, in its order. A letter that does
 * not say its job is of the job of its index or folder.
 */
export async function* readDirectory(folder: string): AsyncGenerator<Letter> {
  let found = false;
  for await (const one of letterFolders(folder)) {
    found = true;
    yield* readFolder(one);
  }
  if (found) return;
  throw new WorkError("input_invalid", `${folder} is no letter directory: there is no folder items in it.`, {
    hint: "Name the folder of a job, which has items/ and index.json, or a folder above it.",
  });
}

/** Deeper than any known layout. */
const DEPTH_MAX = 8;

/** Folders that have an `items`, in the order of their names. Links are not followed. */
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

/** Null when there is none, or when it cannot be understood: what it says can be found out again. */
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

/** First the items that the index names, then the others. */
async function* itemNames(folder: string, itemIds: readonly string[]): AsyncGenerator<string> {
  const there = new Set<string>();
  for await (const { name } of await opendir(join(folder, "items"))) {
    if (!name.startsWith(".") && name.endsWith(".json")) there.add(name);
  }
  const blind = isCaseBlind(folder);
  for (const id of itemIds) {
    // Predecessors do not encode an id.
    for (const name of [itemFileName(id, blind), `${id}.json`]) if (there.delete(name)) yield name;
  }
  yield* [...there].sort();
}

/** Null when it has left since the folder was listed. */
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
    `${path} is no letter: ${json === undefined ? "it is not JSON" : "it has no item_id"}.`,
    { hint: "Correct the file or take it away; nothing after it was read." },
  );
}

function ofJob(letter: Letter, jobId: string): Letter {
  const id = letter.jobId || jobId;
  return { ...letter, jobId: id, queue: letter.queue || id };
}

/** Undefined when it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
