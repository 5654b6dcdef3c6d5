/** Makes a folder with those above it, where Node's own way may never end. */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { PRIVATE_FOLDER } from "./private-files.ts";

/**
 * A folder that is there stays as it is. With `recursive`, Node takes "no such folder" for a missing parent and tries for
 * ever where a file system says so of a folder whose parent is there, as /proc does; here that is an error.
 */
export function makeFolder(path: string, mode = PRIVATE_FOLDER): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (!isFolder(path)) throw error; // another process may have made it
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
