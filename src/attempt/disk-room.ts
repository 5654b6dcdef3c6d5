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

function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < ROOM_BYTES_MIN;
}
