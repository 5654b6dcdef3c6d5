/**
 * One final merge at a time in a repository: git guards its files against another git, but not a merge as a whole. The lock
 * is a file that names its process; one whose process is gone is taken away.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../kit/clock.ts";
import { isJsonObject } from "../kit/json.ts";
import { randomName } from "../kit/random.ts";
import { type Owner, ownerState, thisOwner } from "./owner.ts";

const LOOK_MS = 25;
/** Hooks of a user may run for long. After this, git's own locks have to do. */
const WAIT_MS_MAX = 10 * 60_000;

/** Runs the action while no other process, and nobody else in this one, merges into a branch of the repository. */
export async function mergingAlone<T>(commonDir: string, action: () => Promise<T>): Promise<T> {
  const path = join(commonDir, "redrive-merge.lock");
  const text = JSON.stringify({ ...thisOwner(), by: randomName(8) });
  for (let waitedMs = 0; !isTaken(path, text) && waitedMs < WAIT_MS_MAX; waitedMs += LOOK_MS) {
    dropIfLeft(path);
    await systemClock.sleep(LOOK_MS);
  }
  try {
    return await action();
  } finally {
    if (read(path) === text) rmSync(path, { force: true });
  }
}

/** True when the lock is ours. It is never there half written. */
function isTaken(path: string, text: string): boolean {
  const draft = `${path}.${randomName(8)}`;
  writeFileSync(draft, text);
  try {
    linkSync(draft, path);
    return true;
  } catch {
    return false; // somebody has it
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
  try {
    const owner: unknown = JSON.parse(text);
    return !isJsonObject(owner) || ownerState(owner as unknown as Owner) === "gone";
  } catch {
    return true;
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null; // not there
  }
}
