/**
 * Deletes the copies of evidence that no attempt of the store names any more, as after a purge. Each store has a folder of
 * its own for them, so that one never takes another's away; what was named not long ago is left alone, for an attempt may
 * be about to write that it named it.
 */
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "../engine.ts";
import { tableNamed } from "../item/row.ts";
import { rowsOf } from "./row-pages.ts";

/** Copies that nothing names, deleted or, in a preview, to be deleted. */
export interface Swept {
  readonly copies: number;
  readonly bytes: number;
}

/** A copy's time is that of its last naming. */
const NAMED_WITHIN_MS = 30 * 86_400_000;

export async function sweepEvidence(
  engine: Engine,
  { folder, isPreview = false }: { readonly folder: string; readonly isPreview?: boolean },
): Promise<Swept> {
  if (!engine.can.copy) return { copies: 0, bytes: 0 }; // its rows cannot be read, so nobody knows what they name
  const unnamed = await oldCopies(folder);
  await leaveNamed(engine, unnamed);
  let [copies, bytes] = [0, 0];
  for (const copy of unnamed.values()) {
    if (!isPreview && !(await remove(copy.path))) continue;
    copies += 1;
    bytes += copy.bytes;
  }
  return { copies, bytes };
}

interface Copy {
  readonly path: string;
  readonly bytes: number;
}

/** By their digests. */
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

const GOING = ".going";

/** Undefined for other files. One that was going when a sweep was killed is put back, and looked at as the others are. */
async function digestOf(folder: string, name: string): Promise<string | undefined> {
  const digest = name.endsWith(GOING) ? name.slice(0, -GOING.length) : name;
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined;
  if (digest !== name) await rename(join(folder, name), join(folder, digest));
  return digest;
}

async function leaveNamed(engine: Engine, copies: Map<string, Copy>): Promise<void> {
  for (const [table, column] of WHERE_NAMED) {
    if (copies.size === 0) return;
    for await (const { rows } of rowsOf(engine, tableNamed(table))) {
      for (const row of rows) {
        for (const [digest] of String(row[column] ?? "").matchAll(/[0-9a-f]{64}/g)) copies.delete(digest);
      }
    }
  }
}

/** The failures of attempts, and what late workers said. */
const WHERE_NAMED = [
  ["attempts", "failure"],
  ["evidence", "note"],
] as const;

/**
 * It is moved aside first: an attempt that names the same content now either finds no copy and makes one, or has given
 * this one its time, which is seen after the move.
 */
async function remove(path: string): Promise<boolean> {
  const going = `${path}${GOING}`;
  try {
    await rename(path, going);
  } catch (error) {
    if (isAbsent(error)) return false; // another sweep was first
    throw error;
  }
  const isOld = (await oldFile(going)) !== undefined;
  await (isOld ? rm(going, { force: true }) : rename(going, path));
  return isOld;
}

async function oldFile(path: string): Promise<{ readonly size: number } | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() && found.mtimeMs < Date.now() - NAMED_WITHIN_MS ? found : undefined;
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
