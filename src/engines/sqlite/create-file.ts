/**
 * Creates the file of a new store atomically. SQLite would create an empty file first, and if the process
 * were killed at that moment, the file would look like a truncated store.
 */
import { linkSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { makePrivate } from "../../std/files.ts";
import { randomName } from "../../std/random.ts";
import { DatabaseSync } from "./session.ts";

/** Temporary files older than this were left by a process that was killed. */
const LEFT_AFTER_MS = 60_000;

/**
 * Does nothing if another process was faster, or if the file system does not support hard links; SQLite then
 * creates the file.
 */
export function createStoreFile(path: string): void {
  const fresh = `${path}.new-${randomName(8)}`;
  try {
    removeLeft(path);
    const db = new DatabaseSync(fresh);
    db.exec("PRAGMA journal_mode = WAL"); // writes the first page
    db.close();
    makePrivate(fresh);
    linkSync(fresh, path);
  } catch {
    // Any problem with the folder or the disk is reported when the store is opened.
  } finally {
    for (const end of ["", "-wal", "-shm"]) rmSync(`${fresh}${end}`, { force: true });
  }
}

function removeLeft(path: string): void {
  const prefix = `${basename(path)}.new-`;
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix)) continue;
    const left = join(folder, name);
    const age = Date.now() - (statSync(left, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > LEFT_AFTER_MS) rmSync(left, { force: true });
  }
}
