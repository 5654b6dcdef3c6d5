/** What a recovery of a target's letters starts from: which there are, what was begun before, and whether anybody answers. */

import { requireDeliverable } from "../delivery/deliverable.ts";
import { openDelivery } from "../delivery/open-delivery.ts";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import { systemClock, toRfc3339 } from "../kit/clock.ts";
import { requireTarget } from "../queue/find-queue.ts";
import { countSelected, type Selection } from "../redrive/select.ts";
import { selectionFor } from "../redrive/selection-for.ts";

export interface Recovery {
  readonly job: Job;
  readonly selection: Selection;
  /** How many are dead. */
  readonly letters: number;
  /** Redrives that another process began and did not finish, oldest first. Those that a person paused are not among them. */
  readonly begun: readonly Operation[];
}

export async function surveyRecovery(engine: Engine, name: string): Promise<Recovery> {
  const job = await requireTarget(engine, name);
  requireDeliverable(job);
  const selection = selectionFor("redrive", { filter: { queue: job.id } });
  const open = await engine.listOperations({ queue: job.id, open: true });
  const begun = open.filter(({ kind, status }) => kind === "redrive" && status !== "paused");
  begun.sort((a, b) => a.createdAt - b.createdAt);
  return { job, selection, letters: await countSelected(engine, selection), begun };
}

/** A `target_unreachable` error when a recovery would come to nothing. Nothing is changed. */
export async function requireReachable(engine: Engine, { job, letters }: Recovery): Promise<void> {
  const kept = letters === 1 ? "1 letter waits" : `${letters} letters wait`;
  if (job.pause) {
    const { at, reason } = job.pause;
    const why = reason === "" ? "" : `: ${reason}`;
    throw new WorkError(
      "target_unreachable",
      `${job.id} is paused since ${toRfc3339(at)}${why}. Nothing was changed; ${kept}.`,
      { hint: `\`redrive receipts resume ${job.id}\` ends the pause; then run this again.` },
    );
  }
  const delivery = await openDelivery(engine, job, { clock: systemClock });
  try {
    const { isReachable, detail } = await delivery.probe();
    if (isReachable) return;
    throw new WorkError(
      "target_unreachable",
      `${job.id} cannot be reached: ${detail}. Nothing was changed; ${kept}.`,
      {
        hint: "Run it again when it is back.",
      },
    );
  } finally {
    await delivery.close();
  }
}
