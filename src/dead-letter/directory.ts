/**
 * The letter directory: letters as plain files, for people and other tools. Prodigy and mmm keep theirs in the same form,
 * and both are read here. The store is the truth; a directory can be written anew at any time.
 *
 *   {root}/{job_id}/                 one folder for each job; an id is encoded as below
 *   | name                | what                                                                            |
 *   |---------------------|---------------------------------------------------------------------------------|
 *   | items/{item}.json   | one letter, the form of `letterToJson`; {item} is the item's id: letters,        |
 *   |                     | digits, `-`, `_` and inner dots stay, every other byte is `%XX`, a long name is  |
 *   |                     | cut and ends in a hash, the empty id is `%` (directory-name.ts)                  |
 *   | index.json          | {job_id, item_count, item_ids, updated_at}; ids in the order in which they came, |
 *   |                     | and `cursor`, the last event of the store that the folder knows of, when it is   |
 *   |                     | kept up to date (projection.ts)                                                  |
 *   | patterns.json       | the failure analysis, as `dlq analyze --json` prints it                          |
 *   | metrics.json        | the numbers, as `dlq stats --json` prints them                                   |
 *   | .draft-*            | a file that is being written; readers pass over names that begin with a dot      |
 *
 * Each file is written whole, flushed and renamed into place. Letters pass one at a time; only their ids are in memory.
 */
import { mkdir, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileNameOf } from "../item/item-path.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { removeStaleDrafts, writeAtomically } from "../kit/atomic-file.ts";
import { toRfc3339 } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import { Lane } from "../kit/lane.ts";
import { PRIVATE_FOLDER } from "../kit/private-files.ts";
import { isCaseBlind, itemFileName } from "./directory-name.ts";

/** The folder of a job in a root of letter directories. */
export function jobFolder(root: string, jobId: string): string {
  return join(root, fileNameOf(jobId));
}

/** One job's folder, and how many letters it has. */
export interface WrittenFolder {
  readonly jobId: string;
  readonly folder: string;
  readonly items: number;
}

export interface DirectoryOptions {
  /** What `updated_at` says, in milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Writes letters of any jobs under a root. The folder of each job that has one has just these letters afterwards:
 * letters that were there before and are not among them are removed.
 */
export async function writeDirectory(
  root: string,
  letters: AsyncIterable<Letter>,
  { now }: DirectoryOptions,
): Promise<readonly WrittenFolder[]> {
  const writers = new Map<string, FolderWriter>();
  for await (const letter of letters) {
    const writer = writers.get(letter.jobId) ?? (await openFolder(root, letter.jobId));
    writers.set(letter.jobId, writer);
    await writer.write(letter);
  }
  const written: WrittenFolder[] = [];
  for (const writer of writers.values()) written.push(await writer.finish({ now }));
  return written;
}

/** Makes the folder of a job, or takes the one that is there, to write all of its letters. */
export async function openFolder(root: string, jobId: string): Promise<FolderWriter> {
  const folder = jobFolder(root, jobId);
  const nameOf = await makeFolder(folder);
  await tidyFolder(folder);
  return new FolderWriter(jobId, folder, nameOf);
}

/** Writes all letters of one job. */
export class FolderWriter {
  readonly jobId: string;
  readonly folder: string;
  readonly #nameOf: (itemId: string) => string;
  /** File names by id, in the order in which the letters came. */
  readonly #names = new Map<string, string>();
  readonly #lane = new Lane(WRITING_MAX);

  constructor(jobId: string, folder: string, nameOf: (itemId: string) => string) {
    this.jobId = jobId;
    this.folder = folder;
    this.#nameOf = nameOf;
  }

  /** Resolves when there is room for one more; an earlier letter's fault is thrown here or by `finish`. */
  async write(letter: Letter): Promise<void> {
    const name = this.#nameOf(letter.itemId);
    // A letter that was buried again while it was read comes twice, and the later one must be written last.
    if (this.#names.delete(letter.itemId)) await this.#lane.end();
    this.#names.set(letter.itemId, name);
    return this.#lane.start(() => writeItem(join(this.folder, "items", name), letter));
  }

  /** Removes what does not belong, and writes the index and what else is given. */
  async finish(index: IndexFacts, documents: FolderDocuments = {}): Promise<WrittenFolder> {
    await this.#lane.end();
    await removeOthers(join(this.folder, "items"), new Set(this.#names.values()));
    await writeSummary(this.folder, { ...index, jobId: this.jobId, itemIds: this.#names.keys() }, documents);
    return { jobId: this.jobId, folder: this.folder, items: this.#names.size };
  }
}

/** More than the threads that Node writes files with: flushes that wait together cost one. */
export const WRITING_MAX = 16;

/** Makes the folder when it is not there; answers with what an item's file is called in it. */
export async function makeFolder(folder: string): Promise<(itemId: string) => string> {
  await mkdir(join(folder, "items"), { recursive: true, mode: PRIVATE_FOLDER });
  const blind = isCaseBlind(folder);
  return (itemId) => itemFileName(itemId, blind);
}

/** Removes the drafts of writers that vanished. */
export async function tidyFolder(folder: string): Promise<void> {
  await removeStaleDrafts(folder);
  await removeStaleDrafts(join(folder, "items"));
}

/** The folder is not flushed for each: a letter's file that a power cut takes away is written anew. */
export function writeItem(path: string, letter: Letter): Promise<void> {
  return writeAtomically(path, `${JSON.stringify(letterToJson(letter), null, 2)}\n`, { syncFolder: false });
}

async function removeOthers(items: string, names: ReadonlySet<string>): Promise<void> {
  for await (const { name } of await opendir(items)) {
    if (name.startsWith(".") || !name.endsWith(".json") || names.has(name)) continue;
    await rm(join(items, name), { force: true });
  }
}

/** Of one time that a folder is written. */
export interface IndexFacts {
  readonly now: number;
  /** The last event of the store that it knows of. */
  readonly cursor?: number;
}

/** What lies beside the letters. */
export interface FolderDocuments {
  readonly patterns?: JsonObject;
  readonly metrics?: JsonObject;
}

/** The index comes last: what it says is there, is there. */
export async function writeSummary(
  folder: string,
  index: IndexFacts & { readonly jobId: string; readonly itemIds: Iterable<string> },
  { patterns, metrics }: FolderDocuments,
): Promise<void> {
  const write = (name: string, document: JsonObject) =>
    writeAtomically(join(folder, name), `${JSON.stringify(document, null, 2)}\n`);
  if (patterns) await write("patterns.json", patterns);
  if (metrics) await write("metrics.json", metrics);
  const itemIds = [...index.itemIds];
  await write("index.json", {
    job_id: index.jobId,
    item_count: itemIds.length,
    item_ids: itemIds,
    updated_at: toRfc3339(index.now),
    ...(index.cursor !== undefined && { cursor: index.cursor }),
  });
}
