/** A lock file that names its owner process. It is never partially written; the lock of a dead process is replaced. */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isJsonObject } from "./json.ts";
import { type Owner, ownerState, thisOwner } from "./process-identity.ts";
import { randomName } from "./random.ts";

/** Takes the lock and returns a function that releases it, or null if this or another process holds it. */
export function takeLock(path: string): (() => void) | null {
  const text = JSON.stringify({ ...thisOwner(), by: randomName(8) });
  removeIfStale(path);
  if (!tryCreate(path, text)) return null;
  return () => {
    if (read(path) === text) rmSync(path, { force: true });
  };
}

export function lockOwner(path: string): Owner | null {
  return ownerIn(read(path) ?? "");
}

function tryCreate(path: string, text: string): boolean {
  const draft = `${path}.${randomName(8)}`;
  writeFileSync(draft, text);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (Reflect.get(Object(error), "code") === "EEXIST") return false; // the lock is taken
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Whether the lock file exists although its process has ended. */
export function isLockLeft(path: string): boolean {
  const text = read(path);
  return text !== null && isStale(text);
}

/** Renames the file before removing it, so that a lock taken meanwhile can be restored. */
export function removeIfStale(path: string): void {
  const text = read(path);
  if (text === null || !isStale(text)) return;
  const hidden = `${path}.${randomName(8)}`;
  try {
    renameSync(path, hidden);
    if (read(hidden) !== text) linkSync(hidden, path);
  } catch {
    // another process removed it first
  }
  rmSync(hidden, { force: true });
}

/** Whether the owner has ended. An unreadable lock has no owner. */
function isStale(text: string): boolean {
  const owner = ownerIn(text);
  return owner === null || ownerState(owner) === "gone";
}

function ownerIn(text: string): Owner | null {
  try {
    const owner: unknown = JSON.parse(text);
    return isJsonObject(owner) ? (owner as unknown as Owner) : null;
  } catch {
    return null;
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null; // does not exist
  }
}
