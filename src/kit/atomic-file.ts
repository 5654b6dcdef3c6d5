/**
 * Files that a reader sees whole or not at all. What is written goes to a draft beside the file, hidden from readers by
 * the dot of its name; it is flushed to the disk and renamed into place.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open, opendir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PRIVATE_FILE } from "./private-files.ts";
import { processStart, thisHost } from "./process-identity.ts";
import { randomName } from "./random.ts";

/** Text or bytes, at once or piece by piece. */
export type FileContent = string | Uint8Array | AsyncIterable<string | Uint8Array>;

export interface WriteOptions {
  /** Flush the folder too, so that the name itself survives a power cut. Default true; false for files that can be made anew. */
  readonly syncFolder?: boolean;
  /** The file's permissions. Default 0600: whatever Redrive writes may hold data of items. */
  readonly mode?: number;
}

/** The folder has to be there. When it fails, the file is as it was, and no draft is left. */
export async function writeAtomically(
  path: string,
  content: FileContent,
  { syncFolder = true, mode = PRIVATE_FILE }: WriteOptions = {},
): Promise<void> {
  const folder = dirname(path);
  const draft = join(folder, `${DRAFT}${hostMark()}-${process.pid}-${randomName(8)}`);
  try {
    await writeDraft(draft, content, mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  if (syncFolder) await withFile(folder, "r", (handle) => handle.sync());
}

/**
 * For a path that a person gave: a file as above; a device or a pipe, such as /dev/stdout, is written into, for a rename
 * would put a file in its place.
 */
export async function writeOut(path: string, content: FileContent): Promise<void> {
  const there = await stat(path).catch(() => null); // writing says what is wrong
  if (there === null || there.isFile() || there.isDirectory()) return writeAtomically(path, content);
  await withFile(path, "w", (handle) => writePieces(handle, content));
}

/** Removes the drafts that vanished processes left in a folder. */
export async function removeStaleDrafts(folder: string): Promise<void> {
  for await (const { name } of await opendir(folder)) {
    if (!name.startsWith(DRAFT)) continue;
    const path = join(folder, name);
    if (await isStale(path, name)) await rm(path, { force: true });
  }
}

/** Short, whatever the file is called, so that the draft of a long name fits. */
const DRAFT = ".draft-";

function writeDraft(draft: string, content: FileContent, mode: number): Promise<void> {
  return withFile(draft, "wx", async (handle) => {
    await handle.chmod(mode);
    await writePieces(handle, content);
    await handle.sync();
  });
}

async function writePieces(handle: FileHandle, content: FileContent): Promise<void> {
  if (typeof content === "string" || content instanceof Uint8Array) await handle.writeFile(content);
  else for await (const piece of content) await handle.writeFile(piece);
}

async function withFile(
  path: string,
  flags: string,
  action: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const handle = await open(path, flags, PRIVATE_FILE);
  try {
    await action(handle);
  } finally {
    await handle.close();
  }
}

/** A process id means nothing on another machine, or after another boot. */
function hostMark(): string {
  return createHash("sha256").update(thisHost()).digest("hex").slice(0, 8);
}

const DRAFT_AGE_MS_MAX = 24 * 60 * 60_000;

async function isStale(path: string, name: string): Promise<boolean> {
  const [host, pid] = name.slice(DRAFT.length).split("-");
  if (host === hostMark()) return processStart(Number(pid)) === null;
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > DRAFT_AGE_MS_MAX;
}
