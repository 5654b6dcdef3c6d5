/**
 * A command that fails while the disk of the logs is full may have failed for want of room for its output, which says
 * nothing about its item: the attempt is given back instead of spent.
 */
import { statfsSync } from "node:fs";
import type { Outcome } from "../item/outcome.ts";
import { systemClock } from "../kit/clock.ts";

/** With less room than this the output of a command has nowhere to go. */
const ROOM_BYTES_MIN = 64 * 1024;
/** A full disk seldom passes at once; without a pause the item would be back in the same moment. */
const PAUSE_MS = 1000;

/** The outcome as it is, or `released` when it is a failure and the folder's disk is full. */
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

/** Successes are too many to ask the file system after each of them. */
const RECHECK_MS = 250;

/** Whether the disk of the outputs is full, as of a moment ago: a success may then have lost output that it never checked. */
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

/** A folder that is gone is not full: the success was a success. */
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
