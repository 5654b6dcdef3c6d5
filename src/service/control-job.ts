/**
 * Stops, pauses, continues and cancels a job regardless of which process runs it, and stops or skips single
 * items.
 */
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Item } from "../item/item.ts";
import { isStanding, type Job } from "../item/job.ts";
import type { ItemState } from "../item/state.ts";
import { requireItem } from "../queue/find-item.ts";
import { refuseStanding, requireJob } from "../queue/find-job.ts";
import { requestForItem, requestStop } from "../queue/job-control.ts";
import { statusOf } from "../queue/job-summary.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { dismissJob } from "./delete-job.ts";

export interface JobControlDeps {
  readonly engine: Engine;
  readonly author: string;
  readonly clock?: Clock;
}

const POLL_MS = 100;
/** The runner reads requests twice a second, and commands get 5 s to end. */
const WAIT_MS = 15_000;

/** Finds a map or a workflow. Queues never end and have their own commands. */
export async function requireEndingJob(engine: Engine, name: string): Promise<Job> {
  const found = await requireJob(engine, name);
  return isStanding(found) ? refuseStanding(found) : found;
}

/** Stops a running job. Running attempts are ended and do not count. */
export async function stopJob(deps: JobControlDeps, name: string): Promise<Job> {
  const found = await requireEndingJob(deps.engine, name);
  const status = await statusOf(deps.engine, found);
  if (status === "running") return stopRunning(deps, found);
  const hint = `To resume it: redrive resume ${found.id}`;
  throw new RedriveError("illegal_move", `${found.id} is not running: it is ${status}.`, { hint });
}

async function stopRunning(deps: JobControlDeps, { id }: Job): Promise<Job> {
  const { engine, author } = deps;
  await requestStop(engine, id, author);
  await untilDone(deps, `The stop of ${id}`, async () => {
    const now = await engine.findJob(id);
    return now === null || (await statusOf(engine, now)) !== "running";
  });
  return requireJob(engine, id);
}

/** Pauses a job: nothing more is started, and running items finish. */
export async function pauseJob(
  { engine, author }: JobControlDeps,
  name: string,
  reason: string,
): Promise<Job> {
  const { id } = await requireEndingJob(engine, name);
  return engine.changeJob(id, { pause: { author, reason } });
}

/** Ends the pause of a job. */
export async function continueJob({ engine }: JobControlDeps, name: string): Promise<Job> {
  const { id } = await requireEndingJob(engine, name);
  return engine.changeJob(id, { pause: null });
}

/** Stops a job if it is running, and dismisses it. */
export async function cancelJob(deps: JobControlDeps, name: string): Promise<Job> {
  const found = await requireEndingJob(deps.engine, name);
  const status = await statusOf(deps.engine, found);
  if (status === "completed") throw new RedriveError("illegal_move", `${found.id} has already completed.`);
  const stopped = status === "running" ? await stopRunning(deps, found) : found;
  return dismissJob(deps.engine, stopped, deps.author);
}

/** An item after a change, with the job that it belongs to. */
export interface ControlledItem {
  readonly jobId: string;
  readonly itemId: string;
  readonly state: ItemState;
}

/** Ends the running attempt of an item and holds the item. */
export async function stopItem(deps: JobControlDeps, name: string, word: string): Promise<ControlledItem> {
  const { engine, author } = deps;
  const { id, itemId, state } = await find(engine, name, word);
  if (state === "ready") await engine.hold(id, [itemId], { author, reason: "stopped" });
  if (state === "leased") {
    await requestForItem(engine, id, itemId, { action: "stop", author });
    await untilDone(deps, `The stop of ${itemId}`, async () => {
      const now = await readItem(engine, id, itemId);
      return now.state !== "leased" && now.state !== "ready";
    });
  }
  return { jobId: id, itemId, state: (await readItem(engine, id, itemId)).state };
}

/** Makes a held item ready again. `moved` is false if it was not held. */
export async function continueItem(
  { engine, author }: JobControlDeps,
  name: string,
  word: string,
): Promise<ControlledItem & { readonly moved: boolean }> {
  const { id, itemId } = await find(engine, name, word);
  const { moved } = await engine.unhold(id, [itemId], { author });
  return { jobId: id, itemId, state: (await readItem(engine, id, itemId)).state, moved: moved === 1 };
}

/** Ends the running attempt of an item, which does not run again. A ready item is skipped when it is leased. */
export async function skipItem(deps: JobControlDeps, name: string, word: string): Promise<ControlledItem> {
  const { engine, author } = deps;
  const { id, itemId, state } = await find(engine, name, word);
  if (state !== "ready" && state !== "leased" && state !== "held") {
    const hint = state === "dead" ? `To give it up: redrive dlq discard ${itemId} --reason TEXT` : "";
    throw new RedriveError("illegal_move", `${itemId} cannot be skipped: it is ${state}.`, { hint });
  }
  await requestForItem(engine, id, itemId, { action: "skip", author });
  if (state === "held") await engine.unhold(id, [itemId], { author });
  if (state === "leased")
    await untilDone(deps, `The end of ${itemId}`, async () => {
      return (await readItem(engine, id, itemId)).state !== "leased";
    });
  return { jobId: id, itemId, state: (await readItem(engine, id, itemId)).state };
}

async function find(engine: Engine, name: string, word: string) {
  const { id } = await requireEndingJob(engine, name);
  const { itemId, state } = await requireItem(engine, word, id);
  return { id, itemId, state };
}

async function readItem(engine: Engine, queue: string, itemId: string): Promise<Item> {
  const [found] = await engine.listItems({ queue, itemIds: [itemId], limit: 1 });
  if (found !== undefined) return found;
  throw new RedriveError("item_not_found", `There is no item ${itemId} in ${queue}.`);
}

/** Waits until the request has been processed. Throws if no runner responds. */
async function untilDone(
  { clock = systemClock }: JobControlDeps,
  what: string,
  isDone: () => Promise<boolean>,
): Promise<void> {
  for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
    if (await isDone()) return;
    await clock.sleep(POLL_MS);
  }
  throw new RedriveError("store_busy", `${what} has not happened within ${WAIT_MS / 1000} s.`, {
    hint: "The request stays in the store. Check the process that runs the job: redrive status JOB",
  });
}
