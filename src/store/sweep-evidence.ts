/**
 * Deletes copies of evidence files that no attempt of this store references. Recent copies are kept, because the attempt
 * that references them may not have been recorded yet.
 */
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "../engine.ts";
import { tableNamed } from "../item/tables.ts";
import { rowsOf } from "./digest.ts";

/** The copies that were deleted, or that would be deleted in a preview. */
export type Swept = { readonly copies: number; readonly bytes: number };

/** The age below which copies are kept. Recording an attempt updates the modification time of its copies. */
const RECENT_MS = 30 * 86_400_000;

export async function sweepEvidence(
  engine: Engine,
  { folder, isPreview = false }: { folder: string; isPreview?: boolean },
): Promise<Swept> {
  if (!engine.can.copy) return { copies: 0, bytes: 0 }; // the rows cannot be read, so the referenced copies are unknown
  const unnamed = await oldCopies(folder);
  await keepNamed(engine, unnamed);
  let [copies, bytes] = [0, 0];
  for (const copy of unnamed.values()) {
    if (!isPreview && !(await remove(copy.path))) continue;
    copies += 1;
    bytes += copy.bytes;
  }
  return { copies, bytes };
}

type Copy = { readonly path: string; readonly bytes: number };

async function oldCopies(folder: string): Promise<Map<string, Copy>> {
  const copies = new Map<string, Copy>();
  for (const part of (await namesIn(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    for (const name of await namesIn(join(folder, part))) {
      const digest = await digestOf(join(folder, part), name);
      const path = join(folder, part, digest ?? "");
      const found = digest === undefined ? undefined : await oldFile(path);
      if (digest !== undefined && found !== undefined) copies.set(digest, { path, bytes: found.size });
    }
  }
  return copies;
}

const DELETING = ".going";

/** Returns undefined for files that are not copies. First moves back a file that a killed sweep had moved aside. */
async function digestOf(folder: string, name: string): Promise<string | undefined> {
  const digest = name.endsWith(DELETING) ? name.slice(0, -DELETING.length) : name;
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined;
  if (digest !== name) await rename(join(folder, name), join(folder, digest));
  return digest;
}

async function keepNamed(engine: Engine, copies: Map<string, Copy>): Promise<void> {
  for (const [table, column] of NAMING_COLUMNS) {
    if (copies.size === 0) return;
    for await (const { rows } of rowsOf(engine, tableNamed(table))) {
      for (const row of rows) {
        for (const [digest] of String(row[column] ?? "").matchAll(/[0-9a-f]{64}/g)) copies.delete(digest);
      }
    }
  }
}

/** The columns that reference evidence: failures of attempts, and late results. */
const NAMING_COLUMNS = [
  ["attempts", "failure"],
  ["late_results", "note"],
] as const;

/**
 * Moves the copy aside first. A concurrent attempt with the same content either finds no copy and creates one, or has
 * updated the modification time, which is checked after the move.
 */
async function remove(path: string): Promise<boolean> {
  const aside = `${path}${DELETING}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isAbsent(error)) return false; // another process deleted the copy
    throw error;
  }
  const isOld = (await oldFile(aside)) !== undefined;
  await (isOld ? rm(aside, { force: true }) : rename(aside, path));
  return isOld;
}

async function oldFile(path: string): Promise<{ readonly size: number } | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() && found.mtimeMs < Date.now() - RECENT_MS ? found : undefined;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}
