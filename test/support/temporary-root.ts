/**
 * Vitest global setup: puts the temporary folders of tests into memory where that is possible, because thousands of commits and
 * worktrees otherwise wait for the disk. Kills and faults of the tests end processes, never the machine, so nothing is lost.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const FREE_BYTES_MIN = 4 * 1024 ** 3;

let folder: string | undefined;

/** Called by Vitest before the first test file, once for each project; test processes inherit the variable. */
export function setup(): void {
  if (process.env.REDRIVE_TEST_TMPDIR !== undefined) return;
  folder = folderInMemory();
  process.env.REDRIVE_TEST_TMPDIR = folder ?? "";
  if (folder !== undefined) process.env.TMPDIR = folder;
}

export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

/** Undefined if there is no such folder, if it is small, or if programs in it may not be run. */
function folderInMemory(): string | undefined {
  let path: string | undefined;
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < FREE_BYTES_MIN) return undefined;
    path = mkdtempSync(join(MEMORY, "redrive-"));
    chmodSync(path, 0o1777); // as /tmp: the server and some commands of tests run as another user
    const script = join(path, "may-run");
    writeFileSync(script, "#!/bin/sh\n", { mode: 0o755 });
    execFileSync(script);
    return path;
  } catch {
    if (path !== undefined) rmSync(path, { recursive: true, force: true });
    return undefined;
  }
}
