/** What there is to read in a folder of letters. It looks at names only. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { WorkError } from "../../errors.ts";
import { isCaseBlind, itemFileName } from "../directory-name.ts";
import { readIndex } from "../directory-reader.ts";

/** A folder with a file for each letter. */
export interface ItemsFolder {
  /** The `items` folder itself. */
  readonly folder: string;
  /** Of the files: first those that the index names, in its order, which is that of their burial. */
  readonly names: readonly string[];
  readonly job: string;
}

export interface FolderParts {
  readonly items: readonly ItemsFolder[];
  /** Files with a letter a line. */
  readonly streams: readonly string[];
  /** Links that stand where letters should. */
  readonly links: readonly string[];
}

/** The stream of all jobs' letters in a folder of several. */
const ALL_ITEMS = "all-items.jsonl";
/** Deeper than any known layout. */
const DEPTH_MAX = 8;

/** Where there are `items`, other streams than the one of all jobs are archives of what was deleted: they stay where they are. */
export async function partsOf(folder: string): Promise<FolderParts> {
  const found = { items: [] as ItemsFolder[], streams: [] as string[], links: [] as string[] };
  const whole = resolve(folder);
  await walk(whole, 0, found);
  if (found.items.length === 0 && basename(whole) === "items") await addItems(dirname(whole), "items", found);
  const streams =
    found.items.length === 0 ? found.streams : found.streams.filter((file) => basename(file) === ALL_ITEMS);
  return { ...found, streams };
}

interface Finding {
  readonly items: ItemsFolder[];
  readonly streams: string[];
  readonly links: string[];
}

async function walk(folder: string, depth: number, found: Finding): Promise<void> {
  const entries = await list(folder);
  const items = entries.find(({ name }) => name === "items");
  if (items?.isSymbolicLink()) found.links.push(join(folder, "items"));
  if (items?.isDirectory()) return addItems(folder, "items", found);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < DEPTH_MAX) await walk(path, depth + 1, found);
    else if (entry.isFile() && /\.(jsonl|ndjson)(\.gz|\.zst)?$/i.test(entry.name)) found.streams.push(path);
  }
}

/** By name; what begins with a dot is hidden, such as files that are being written. */
async function list(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw new WorkError("input_invalid", `The folder ${folder} cannot be read.`, { cause });
  });
  return entries
    .filter(({ name }) => !name.startsWith("."))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function addItems(parent: string, name: string, found: Finding): Promise<void> {
  const folder = join(parent, name);
  const index = await readIndex(parent); // what cannot be understood of it says nothing: the files are there
  const entries = (await list(folder)).filter((entry) => entry.name.endsWith(".json"));
  const [links, files] = [entries.filter(isLink), entries.filter((entry) => !isLink(entry))];
  found.links.push(...links.map((entry) => join(folder, entry.name)));
  const names = inOrder(new Set(files.map((entry) => entry.name)), index?.itemIds ?? [], isCaseBlind(parent));
  found.items.push({ folder, names, job: index?.jobId || basename(parent) });
}

function isLink(entry: Dirent): boolean {
  return entry.isSymbolicLink();
}

function inOrder(names: Set<string>, itemIds: readonly string[], blind: boolean): readonly string[] {
  const first = itemIds.flatMap((id) =>
    // Predecessors do not encode an id.
    [itemFileName(id, blind), `${id}.json`].filter((name) => names.delete(name)),
  );
  return [...first, ...names];
}
