/** Small and read-only file systems for tests of full disks and missing permissions. Mounting requires root. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Why this machine cannot mount; null if it can. */
export const NO_MOUNTS: string | null = whyNot();

/** Mounts a file system of that size at the path until the test ends. */
export function mountSmall(path: string, bytes: number): void {
  mkdirSync(path, { recursive: true });
  mount("-t", "tmpfs", "-o", `size=${bytes}`, "redrive-test", path);
  onTestFinished(() => unmount(path));
}

/** Makes the folder read-only, even for root, until the test ends. */
export function makeReadOnly(path: string): void {
  mount("--bind", path, path);
  onTestFinished(() => unmount(path));
  mount("-o", "remount,ro,bind", path);
}

/** Fills the file system with one file, to the last byte. Removing the file makes room again. */
export function fillUp(path: string): void {
  const fd = openSync(path, "w");
  const chunk = Buffer.alloc(4096, 1);
  try {
    for (;;) writeSync(fd, chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(fd);
  }
}

function whyNot(): string | null {
  if (process.platform !== "linux") return "only Linux has tmpfs and bind mounts";
  if (process.getuid?.() !== 0) return "only root may mount";
  const path = mkdtempSync(join(tmpdir(), "redrive-mount-"));
  try {
    mount("-t", "tmpfs", "-o", "size=65536", "redrive-test", path);
    unmount(path);
    return null;
  } catch {
    return "this container may not mount";
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

function mount(...args: string[]): void {
  execFileSync("mount", args, { stdio: "pipe" });
}

/** Unmounts lazily, because an ending process may still have a file open. */
function unmount(path: string): void {
  execFileSync("umount", ["--lazy", path], { stdio: "pipe" });
}
