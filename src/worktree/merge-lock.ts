/** One final merge at a time in a repository: git guards its files against another git, but not a merge as a whole. */
import { join } from "node:path";
import { systemClock } from "../kit/clock.ts";
import { takeLock } from "../kit/file-lock.ts";

const LOOK_MS = 25;
/** Hooks of a user may run for long. After this, git's own locks have to do. */
const WAIT_MS_MAX = 10 * 60_000;

/** Runs the action while no other process, and nobody else in this one, merges into a branch of the repository. */
export async function mergingAlone<T>(commonDir: string, action: () => Promise<T>): Promise<T> {
  const path = join(commonDir, "redrive-merge.lock");
  let giveBack = takeLock(path);
  for (let waitedMs = 0; giveBack === null && waitedMs < WAIT_MS_MAX; waitedMs += LOOK_MS) {
    await systemClock.sleep(LOOK_MS);
    giveBack = takeLock(path);
  }
  try {
    return await action();
  } finally {
    giveBack?.();
  }
}
