/**
 * The letter directory: letters as plain files, for people and other tools, in the format of Prodigy and mmm. The store
 * is the truth; a directory can be rewritten at any time.
 *
 *   {root}/{job_id}/                 one folder per job; the id is encoded as below
 *   | name                | content                                                                          |
 *   |---------------------|----------------------------------------------------------------------------------|
 *   | items/{item}.json   | one letter in the form of `letterToJson`; {item} is the item's id: letters,      |
 *   |                     | digits, `-`, `_` and inner dots are kept, other bytes become `%XX`, a long name  |
 *   |                     | is cut and ends in a hash, the empty id is `%`                                   |
 *   | index.json          | {job_id, item_count, item_ids, updated_at}; ids in order of arrival, `machine`,  |
 *   |                     | the writer's machine and boot, and `cursor`, the last event of the store that a  |
 *   |                     | synced folder includes (projection.ts)                                           |
 *   | patterns.json       | the failure analysis, as `dlq analyze --json` prints it                          |
 *   | metrics.json        | the statistics, as `dlq stats --json` prints them                                |
 *   | .draft-*            | a temporary file; readers skip names that begin with a dot                       |
 *
 * Each file is written completely and renamed into place. Letter files are not flushed, because a flush costs more than the
 * letter; when the machine has restarted since the index was written, the next sync rewrites the folder. Only the ids are
 * kept in memory.
 */

import { existsSync } from "node:fs";
import { mkdir, opendir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileNameOf } from "../item/item.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { toRfc3339 } from "../std/clock.ts";
import { PRIVATE_FOLDER, removeStaleDrafts, replaceUnflushed, writeAtomically } from "../std/files.ts";
import { isJsonObject, type JsonObject, stringifyJson } from "../std/json.ts";
import { hasRestarted, thisHost } from "../std/process-identity.ts";
import { TimeSlice } from "../std/time-slice.ts";

export function jobFolder(root: string, jobId: string): string {
  return join(root, fileNameOf(jobId));
}

export type WrittenFolder = { readonly jobId: string; readonly folder: string; readonly items: number };

/** Writes letters into one folder per job below the root. Removes other letter files in these folders. */
export async function writeDirectory(root: string, letters: AsyncIterable<Letter>, index: { now: number }) {
  const writers = new Map<string, FolderWriter>();
  for await (const letter of letters) {
    const writer = writers.get(letter.jobId) ?? (await openFolder(root, letter.jobId));
    writers.set(letter.jobId, writer);
    await writer.write(letter);
  }
  const written: WrittenFolder[] = [];
  for (const writer of writers.values()) written.push(await writer.finish(index));
  return written;
}

export async function openFolder(root: string, jobId: string): Promise<FolderWriter> {
  const folder = jobFolder(root, jobId);
  const nameOf = await makeFolder(folder);
  await removeOldDrafts(folder);
  return new FolderWriter(jobId, folder, nameOf);
}

export class FolderWriter {
  readonly jobId: string;
  readonly folder: string;
  readonly #nameOf: (itemId: string) => string;
  readonly #names = new Map<string, string>();
  readonly #slice = new TimeSlice();

  constructor(jobId: string, folder: string, nameOf: (itemId: string) => string) {
    this.jobId = jobId;
    this.folder = folder;
    this.#nameOf = nameOf;
  }

  async write(letter: Letter): Promise<void> {
    const name = this.#nameOf(letter.itemId);
    // A letter that was buried again during the read occurs twice; the later version moves to the end.
    this.#names.delete(letter.itemId);
    this.#names.set(letter.itemId, name);
    writeItem(join(this.folder, "items", name), letterToJson(letter));
    await this.#slice.next();
  }

  async finish(index: IndexFacts, documents: FolderDocuments = {}): Promise<WrittenFolder> {
    await removeOthers(join(this.folder, "items"), new Set(this.#names.values()));
    await writeSummary(this.folder, { ...index, jobId: this.jobId, itemIds: this.#names.keys() }, documents);
    return { jobId: this.jobId, folder: this.folder, items: this.#names.size };
  }
}

export async function makeFolder(folder: string): Promise<(itemId: string) => string> {
  await mkdir(join(folder, "items"), { recursive: true, mode: PRIVATE_FOLDER });
  const ignoreCase = ignoresCase(folder);
  return (itemId) => itemFileName(itemId, ignoreCase);
}

export async function removeOldDrafts(folder: string): Promise<void> {
  await removeStaleDrafts(folder);
  await removeStaleDrafts(join(folder, "items"));
}

export function writeItem(path: string, letter: JsonObject): void {
  replaceUnflushed(path, `${stringifyJson(letter, 2)}\n`);
}

async function removeOthers(items: string, names: ReadonlySet<string>): Promise<void> {
  for await (const { name } of await opendir(items)) {
    if (name.startsWith(".") || !name.endsWith(".json") || names.has(name)) continue;
    await rm(join(items, name), { force: true });
  }
}

export interface IndexFacts {
  readonly now: number;
  /** The newest event of the store that the folder reflects. */
  readonly cursor?: number;
}

export type FolderDocuments = { readonly patterns?: JsonObject; readonly metrics?: JsonObject };

/** Writes the index last, so that it lists only files that exist. */
export async function writeSummary(
  folder: string,
  index: IndexFacts & { jobId: string; itemIds: Iterable<string> },
  { patterns, metrics }: FolderDocuments,
) {
  const write = (name: string, document: JsonObject) =>
    writeAtomically(join(folder, name), `${stringifyJson(document, 2)}\n`);
  if (patterns) await write("patterns.json", patterns);
  if (metrics) await write("metrics.json", metrics);
  const itemIds = [...index.itemIds];
  await write("index.json", {
    job_id: index.jobId,
    item_count: itemIds.length,
    item_ids: itemIds,
    updated_at: toRfc3339(index.now),
    ...(index.cursor !== undefined && { machine: thisHost(), cursor: index.cursor }),
  });
}

/**
 * Returns null for a missing or invalid index, because it can be rebuilt from the store. The cursor is omitted if this
 * machine has restarted since, because a power failure may have lost files that were not flushed.
 */
export async function readIndex(folder: string) {
  const read = readFile(join(folder, "index.json"), "utf8").then(JSON.parse);
  const json: unknown = await read.catch(() => null);
  if (!isJsonObject(json)) return null;
  const { job_id: jobId, item_ids: ids, machine, cursor } = json;
  const isCurrent = typeof machine !== "string" || !hasRestarted(machine);
  return {
    jobId: typeof jobId === "string" ? jobId : "",
    itemIds: Array.isArray(ids) ? ids.filter((id): id is string => typeof id === "string") : [],
    cursor: typeof cursor === "number" && isCurrent ? cursor : undefined,
  };
}

/** The file name for an item's id. Encodes capital letters too if the file system ignores case. */
export function itemFileName(itemId: string, ignoreCase = false): string {
  if (itemId === "") return "%.json"; // `.json` would be a hidden file, and no other id is encoded as a bare %
  const name = fileNameOf(itemId);
  return `${ignoreCase ? withoutCapitals(name) : name}.json`;
}

/** Whether the file system ignores case: then the folder `items` is also found as `ITEMS`. */
export function ignoresCase(folder: string): boolean {
  return existsSync(join(folder, "ITEMS"));
}

/** Encodes capital letters, except in escapes: `%2F` must not become `%2f`. */
function withoutCapitals(name: string): string {
  return name.replace(/%[0-9A-F]{2}|[A-Z]/g, (found) =>
    found.length > 1 ? found : `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
