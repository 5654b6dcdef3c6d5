/** Whose a worktree is, and whether any process still works in it. */
import { readdirSync, readlinkSync } from "node:fs";

export { type Owner, type OwnerState, ownerState, thisOwner } from "../kit/owner.ts";

/** True when a process of this machine works in the folder: what a killed runner left running may still write there. */
export function hasProcessIn(folder: string): boolean {
  if (process.platform !== "linux") return false;
  return readdirSync("/proc").some((pid) => /^\d+$/.test(pid) && isWithin(cwdOf(pid), folder));
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ""; // it has ended, or belongs to another user
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
