/** What a job runs and where, in short, for lists and messages. */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Job } from "../item/job.ts";

/** `gzip -k {}`, or `run fix-lint.yml`. */
export function commandText({ kind, spec }: Pick<Job, "kind" | "spec">): string {
  if (Array.isArray(spec.command)) return spec.command.map(String).join(" ");
  if (typeof spec.file === "string") return `run ${basename(spec.file)}`;
  return kind === "imported" ? "(imported letters)" : `(${kind})`;
}

/** The folder that it was started in; undefined for imported letters. */
export function folderOf({ spec }: Pick<Job, "spec">): string | undefined {
  return typeof spec.cwd === "string" ? spec.cwd : undefined;
}

/** Whether the job was started in this folder, or in the same git repository. */
export function isOfFolder(job: Pick<Job, "spec">, cwd: string): boolean {
  const folder = folderOf(job);
  if (folder === undefined) return false;
  return resolve(folder) === resolve(cwd) || (topOf(cwd) !== null && topOf(folder) === topOf(cwd));
}

/** The top level of the git repository around a folder. */
function topOf(folder: string): string | null {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return null;
  }
}
