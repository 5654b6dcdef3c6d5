/**
 * Records which leased commands have started, in one small file per holder. A holder may lease more items than it runs;
 * when its process is killed, the reaper reads here which of them never started. The launcher writes the records
 * (launcher/launcher.c) into the page cache, which survives the processes but not the machine.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lease } from "../item/item.ts";
import { fileNameOf } from "../item/item.ts";
import { PRIVATE_FILE } from "../std/files.ts";
import { tryTo } from "../std/try-to.ts";

/** The size of one record: u64 ref, u32 attempt, u32 zero. */
const MARK_BYTES = 16;

/** Creates the holder's file with room for `count` records. Throws if it cannot be written. */
export function createStartMarks(folder: string, holderId: string, count: number): string {
  const path = pathOf(folder, holderId);
  writeFileSync(path, Buffer.alloc(count * MARK_BYTES), { mode: PRIVATE_FILE });
  return path;
}

export function removeStartMarks(folder: string, holderId: string): void {
  tryTo(() => rmSync(pathOf(folder, holderId), { force: true }));
}

/** Returns whether an attempt has started; null if the holder recorded nothing on this machine. */
export function readStartMarks(folder: string, holderId: string): ((lease: Lease) => boolean) | null {
  const bytes = tryTo(() => readFileSync(pathOf(folder, holderId)));
  if (bytes === undefined) return null;
  const started = new Set<string>();
  for (let at = 0; at + MARK_BYTES <= bytes.length; at += MARK_BYTES)
    started.add(`${bytes.readBigUInt64LE(at)}/${bytes.readUInt32LE(at + 8)}`);
  return ({ ref, attempt }) => started.has(`${ref}/${attempt}`);
}

function pathOf(folder: string, holderId: string): string {
  return join(folder, `${fileNameOf(holderId)}.started`);
}
