/** Rights of what Redrive writes: item data, output and logs are readable by their owner alone. */
import { chmodSync, statSync } from "node:fs";

export const PRIVATE_FOLDER = 0o700;
export const PRIVATE_FILE = 0o600;

const OTHERS = 0o077;

/** Takes the rights of others from a file or folder that is there. False when they still have some, as where the file system has no rights. */
export function makePrivate(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & OTHERS) === 0) return true;
  try {
    chmodSync(path, found.mode & ~OTHERS & 0o777);
  } catch {
    return false; // another user's file, or a read-only file system
  }
  return (statSync(path).mode & OTHERS) === 0;
}
