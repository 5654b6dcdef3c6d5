/** Reads letter folders of one or several jobs, of Prodigy and mmm, and archives. Does not follow symbolic links. */
import { constants, type Dirent } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { RedriveError } from "../../errors.ts";
import { openInput } from "../../intake/input.ts";
import { RECORD_BYTES_MAX } from "../../intake/origin.ts";
import { type Letter, letterFromJson } from "../../item/letter.ts";
import { isJsonObject } from "../../std/json.ts";
import { ignoresCase, itemFileName, readIndex } from "../directory.ts";
import { withCurrentNames } from "./imported-letters.ts";
import { readFile } from "./read-file.ts";
import { recordOf } from "./read-json.ts";
import { isRefusal, type RawRecord, type Reading } from "./reading.ts";

/** Reads the letters of every job below a folder. A file that is not a letter is an error. */
export async function* readDirectory(folder: string): AsyncGenerator<Letter> {
  const { items, links } = await partsOf(folder);
  const [link] = links;
  if (link !== undefined) throw notALetter(link, LINK);
  const isDirectory = items.some((part) => part.folder !== resolve(folder)); // not for a bare `items` folder
  if (!isDirectory) throw noLetters(folder);
  for (const part of items) {
    for await (const run of readItems(part)) for (const reading of run) yield letterOf(reading, part.job);
  }
}

function letterOf(reading: Reading, job: string): Letter {
  if (isRefusal(reading)) throw notALetter(reading.location.file, reading.why);
  if (!isJsonObject(reading.data) || typeof reading.data.item_id !== "string")
    throw notALetter(reading.location.file, "it has no item_id");
  const letter = letterFromJson(withCurrentNames(reading.data));
  const jobId = letter.jobId || job;
  return { ...letter, jobId, queue: letter.queue || jobId };
}

function notALetter(file: string, why: string): RedriveError {
  return new RedriveError("input_invalid", `${file} is not a letter: ${why}.`, {
    hint: "Correct or remove the file, then run the command again.",
  });
}

export async function* readFolder(folder: string): AsyncGenerator<Iterable<Reading>> {
  const parts = await partsOf(folder);
  if (parts.items.length === 0 && parts.streams.length === 0) throw noLetters(folder);
  yield parts.links.map((file) => ({ location: { file }, why: LINK }));
  const ids = new Set<string>();
  for (const part of parts.items) {
    for await (const run of readItems(part)) {
      if (parts.streams.length > 0) for (const id of run.map(idIn)) if (id !== null) ids.add(id);
      yield run;
    }
  }
  for (const file of parts.streams) yield* readStream(file, ids);
}

const LINK = "a symbolic link, which is not followed";

function noLetters(folder: string): RedriveError {
  return new RedriveError("input_invalid", `${folder} is not a letter directory: it has no items folder.`, {
    hint: "Give the folder of a job, which contains items/, or a folder above it.",
  });
}

/** The number of files read in parallel, because most of the time is spent waiting for the disk. */
const PARALLEL_READS = 32;

async function* readItems({ folder, names, job }: ItemsFolder): AsyncGenerator<readonly Reading[]> {
  for (let start = 0; start < names.length; start += PARALLEL_READS) {
    const files = names.slice(start, start + PARALLEL_READS).map((name) => join(folder, name));
    const readings = await Promise.all(files.map(readItem));
    yield readings.flatMap((reading) => {
      if (reading === null) return [];
      return [isRefusal(reading) ? reading : { ...reading, folderJob: job }];
    });
  }
}

/** Returns null if the file was removed after the folder was listed. */
async function readItem(file: string): Promise<Reading | null> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = await handle.stat();
    if (!found.isFile()) return { location: { file }, why: "not a file" };
    if (found.size > RECORD_BYTES_MAX) return { location: { file }, why: "longer than 64 MB" };
    return recordOf(await handle.readFile(), file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    return { location: { file }, why: code === "ELOOP" ? LINK : `cannot be read: ${message}` };
  } finally {
    await handle?.close();
  }
}

/** Marks letters that name no job and were already read from their own files. */
async function* readStream(file: string, ids: ReadonlySet<string>): AsyncGenerator<Iterable<Reading>> {
  const { chunks } = await openInput(file, process.stdin);
  for await (const run of readFile(chunks, file)) yield marked(run, ids);
}

function* marked(run: Iterable<Reading>, ids: ReadonlySet<string>): Generator<Reading> {
  for (const reading of run) yield isRepeated(reading, ids) ? { ...reading, isRepeated: true } : reading;
}

function isRepeated(reading: Reading, ids: ReadonlySet<string>): reading is RawRecord {
  const id = idIn(reading);
  return (
    id !== null &&
    "data" in reading &&
    Reflect.get(Object(reading.data), "job_id") === undefined &&
    ids.has(id)
  );
}

/** The id of a letter, which may be empty; null if the record is not an object. */
function idIn(reading: Reading): string | null {
  return isRefusal(reading) || !isJsonObject(reading.data) ? null : String(reading.data.item_id ?? "");
}

export interface ItemsFolder {
  readonly folder: string;
  readonly names: readonly string[];
  readonly job: string;
}

const ALL_ITEMS = "all-items.jsonl";
/** The maximum folder depth; no known layout is deeper. */
const DEPTH_MAX = 8;

/** If the folder has `items`, its other streams are archives of deleted letters, which are not imported. */
export async function partsOf(folder: string): Promise<Finding> {
  const found: Finding = { items: [], streams: [], links: [] };
  const whole = resolve(folder);
  await walk(whole, 0, found);
  if (found.items.length === 0 && basename(whole) === "items") await addItems(dirname(whole), "items", found);
  if (found.items.length === 0) return found;
  return { ...found, streams: found.streams.filter((file) => basename(file) === ALL_ITEMS) };
}

type Finding = { readonly items: ItemsFolder[]; readonly streams: string[]; readonly links: string[] };

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

/** Lists a folder sorted by name, without hidden files such as temporary ones. */
async function list(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw new RedriveError("input_invalid", `The folder ${folder} cannot be read.`, { cause });
  });
  return entries
    .filter(({ name }) => !name.startsWith("."))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function addItems(parent: string, name: string, found: Finding): Promise<void> {
  const folder = join(parent, name);
  const index = await readIndex(parent); // an invalid index is ignored: the files are enough
  const entries = (await list(folder)).filter((entry) => entry.name.endsWith(".json"));
  const files = entries.filter((entry) => !entry.isSymbolicLink());
  found.links.push(
    ...entries.filter((entry) => !files.includes(entry)).map(({ name }) => join(folder, name)),
  );
  const names = inOrder(new Set(files.map((entry) => entry.name)), index?.itemIds ?? [], ignoresCase(parent));
  found.items.push({ folder, names, job: index?.jobId || basename(parent) });
}

function inOrder(names: Set<string>, itemIds: readonly string[], ignoreCase: boolean): readonly string[] {
  const first = itemIds.flatMap((id) =>
    // Prodigy and mmm do not encode ids.
    [itemFileName(id, ignoreCase), `${id}.json`].filter((name) => names.delete(name)),
  );
  return [...first, ...names];
}
