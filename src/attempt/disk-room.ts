/** Detects a full disk. A command that fails meanwhile may have failed because of it, so its attempt is not counted. */
import { statfsSync } from "node:fs";
import type { Outcome } from "../item/settlement.ts";
import { systemClock } from "../std/clock.ts";

/** Below this, the disk counts as full. */
const ROOM_BYTES_MIN = 64 * 1024;
/** Without a pause the item would be leased again at once. */
const PAUSE_MS = 1000;

/** Turns a failure into `released` when the disk of the folder is full. */
export async function unlessDiskFull(
  outcome: Outcome,
  folder: string,
  signal: AbortSignal,
): Promise<Outcome> {
  if (outcome.kind !== "failed" || !isFull(folder)) return outcome;
  await systemClock.sleep(PAUSE_MS, signal);
  const log = outcome.log === undefined ? {} : { log: outcome.log };
  return { kind: "released", why: "the disk of the logs is full", ...log };
}

/** The file system is not asked after every success. */
const RECHECK_MS = 250;

/** Whether the disk was full recently. A success may then have lost output without noticing. */
export class DiskRoom {
  readonly #now: () => number;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #isFull = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  isFull(folder: string): boolean {
    const now = this.#now();
    if (Math.abs(now - this.#checkedAt) >= RECHECK_MS) {
      this.#checkedAt = now;
      this.#isFull = isFullNow(folder);
    }
    return this.#isFull;
  }
}

/** A missing folder is not full. */
function isFullNow(folder: string): boolean {
  try {
    return isFull(folder);
  } catch {
    return false;
  }
}

function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < ROOM_BYTES_MIN;
}
