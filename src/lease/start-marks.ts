/**
 * Records which leased commands have started and which have ended, in one small file per holder. A holder may lease more
 * items than it runs, and stores results in groups; when its process is killed, the reaper reads here which items never
 * started and which results were not stored. The launcher writes the records (launcher/launcher.c) into the page cache,
 * which survives the processes but not the machine.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lease } from "../item/item.ts";
import { fileNameOf } from "../item/item.ts";
import { PRIVATE_FILE } from "../std/files.ts";
import { tryTo } from "../std/try-to.ts";

/** The size of one record: u64 ref, u32 attempt, u8 flags, u8 exit code or signal, u16 zero. */
const MARK_BYTES = 16;
const FLAG = { ended: 1, hasOutput: 2, signal: 4 } as const;

/** What is known about an attempt that has started. */
export interface StartMark {
  /** Absent while the command runs, and when the runner or the launcher has ended it. */
  readonly end?: CommandEnd;
}

/** How a command ended by itself. */
export interface CommandEnd {
  readonly exitCode?: number;
  readonly signal?: number;
  /** Whether it left output or report files that its runner had not stored. */
  readonly hasOutput: boolean;
}

/** Creates the holder's file with room for `count` records. Throws if it cannot be written. */
export function createStartMarks(folder: string, holderId: string, count: number): string {
  const path = pathOf(folder, holderId);
  writeFileSync(path, Buffer.alloc(count * MARK_BYTES), { mode: PRIVATE_FILE });
  return path;
}

export function removeStartMarks(folder: string, holderId: string): void {
  tryTo(() => rmSync(pathOf(folder, holderId), { force: true }));
}

/** Finds the marks of attempts, by lease; null if the holder recorded nothing on this machine. */
export function readStartMarks(
  folder: string,
  holderId: string,
): ((lease: Lease) => StartMark | undefined) | null {
  const bytes = tryTo(() => readFileSync(pathOf(folder, holderId)));
  if (bytes === undefined) return null;
  const marks = new Map<string, StartMark>();
  for (let at = 0; at + MARK_BYTES <= bytes.length; at += MARK_BYTES)
    marks.set(`${bytes.readBigUInt64LE(at)}/${bytes.readUInt32LE(at + 8)}`, markAt(bytes, at));
  return ({ ref, attempt }) => marks.get(`${ref}/${attempt}`);
}

function markAt(bytes: Buffer, at: number): StartMark {
  const flags = bytes.readUInt8(at + 12);
  const code = bytes.readUInt8(at + 13);
  if ((flags & FLAG.ended) === 0) return {};
  const how = (flags & FLAG.signal) === 0 ? { exitCode: code } : { signal: code };
  return { end: { ...how, hasOutput: (flags & FLAG.hasOutput) !== 0 } };
}

function pathOf(folder: string, holderId: string): string {
  return join(folder, `${fileNameOf(holderId)}.started`);
}
