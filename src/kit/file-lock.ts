/**
 * A file that says which process is at something. It is never there half written, and one whose process is gone is taken
 * away by the next that wants it.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isJsonObject } from "./json.ts";
import { type Owner, ownerState, thisOwner } from "./owner.ts";
import { randomName } from "./random.ts";

/** Takes the lock, and returns the way to give it back; null while somebody else has it, in this process or another. */
export function takeLock(path: string): (() => void) | null {
  const text = JSON.stringify({ ...thisOwner(), by: randomName(8) });
  dropIfLeft(path);
  if (!isTaken(path, text)) return null;
  return () => {
    if (read(path) === text) rmSync(path, { force: true });
  };
}

/** Who has it, when that can be read. */
export function lockOwner(path: string): Owner | null {
  return ownerIn(read(path) ?? "");
}

/** True when the lock is ours. */
function isTaken(path: string, text: string): boolean {
  const draft = `${path}.${randomName(8)}`;
  writeFileSync(draft, text);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (Reflect.get(Object(error), "code") === "EEXIST") return false; // somebody has it
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Hidden before it is removed, so that one that somebody has taken meanwhile is put back. */
function dropIfLeft(path: string): void {
  const text = read(path);
  if (text === null || !isLeft(text)) return;
  const hidden = `${path}.${randomName(8)}`;
  try {
    renameSync(path, hidden);
    if (read(hidden) !== text) linkSync(hidden, path);
  } catch {
    // somebody was quicker
  }
  rmSync(hidden, { force: true });
}

/** What nobody can read names nobody. */
function isLeft(text: string): boolean {
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
    return null; // not there
  }
}
