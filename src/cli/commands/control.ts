/** `redrive items|stop|pause|continue|skip|cancel`: the items of a job, and requests to the process that runs it, from anywhere. */
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { usageToJson } from "../../item/agent-run.ts";
import type { AgentUsage } from "../../item/agent-usage.ts";
import type { Item } from "../../item/item.ts";
import { isStanding, type Job } from "../../item/job.ts";
import { itemToJson, requireItem } from "../../queue/find-item.ts";
import { refuseStanding, requireJob } from "../../queue/find-job.ts";
import { requestForItem, requestStop } from "../../queue/job-control.ts";
import { statusOf } from "../../queue/job-summary.ts";
import { dismissJob } from "../../service/delete-job.ts";
import { systemClock } from "../../std/clock.ts";
import { asText, type JsonObject } from "../../std/json.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { itemStates, reason } from "../options.ts";
import { nextPageText, table } from "../render/layout.ts";
import { costText } from "../render/usage.ts";
import { pageOptions } from "../standing.ts";

const job = argument("<job>", "id or name");
const oneItem = argument("<item>", "an item id or a unique prefix");
const maybeItem = argument("[item]", "an item id or a unique prefix (default: the whole job)");

const items = command({
  summary: "List all items of a job with state, attempts and cost, oldest first.",
  examples: ["redrive items nightly", "redrive items nightly --state leased,dead --json"],
  arguments: { name: job },
  options: {
    states: itemStates("only items in these states: ready, leased, held, done, dead, skipped, discarded"),
    ...pageOptions,
  },
  run: async (context, { name, states, limit, after = 0 }) => {
    const { shown, next, usageOf } = await context.withStore(async (engine) => {
      const { id: queue } = await requireJob(engine, name);
      const page = await engine.listItems({ queue, after, limit: limit + 1, ...(states && { states }) });
      const shown = page.slice(0, limit); // the extra item only shows whether there is a next page
      const refs = shown.map(({ ref }) => ref);
      const sums = await engine.sumAgentUsage({ by: "item", queue, refs });
      return {
        shown,
        next: page.length > limit ? String(shown.at(-1)?.ref ?? after) : null,
        usageOf: new Map(sums.map(({ key, usage }) => [Number(key), usage])),
      };
    });
    const document = { items: shown.map((one) => withUsage(one, usageOf.get(one.ref))), next };
    return context.answer(document, () => itemsText(context, shown, usageOf) + nextPageText(context, next));
  },
});

function withUsage(item: Item, usage: AgentUsage | undefined): JsonObject {
  return { ...itemToJson(item), ...(usage && { usage: usageToJson(usage) }) };
}

function itemsText(
  { paint, columns }: Context,
  shown: readonly Item[],
  usageOf: ReadonlyMap<number, AgentUsage>,
): string {
  if (shown.length === 0) return "No items.\n";
  const tints: Readonly<Record<string, (text: string) => string>> = {
    ...{ done: paint.green, dead: paint.red, leased: paint.cyan, held: paint.yellow },
  };
  return table(
    shown,
    [
      { title: "ITEM", value: (one) => one.itemId, cutTo: 12 },
      {
        title: "STATE",
        value: (one) => one.state,
        paint: (cell, one) => (tints[one.state] ?? paint.dim)(cell),
      },
      { title: "ATTEMPTS", value: (one) => one.attempts, align: "right" },
      ...(usageOf.size === 0
        ? []
        : [{ title: "COST", value: (one: Item) => costText(usageOf.get(one.ref)), align: "right" } as const]),
      { title: "DATA", value: (one) => one.name ?? asText(one.data), cutTo: 12, giveUp: 1 },
    ],
    columns,
  );
}

const POLL_MS = 100;
/** The runner reads requests twice a second, and commands get 5 s to end. */
const WAIT_MS = 15_000;

/** Waits until the request has been carried out. Throws if no runner answers. */
async function untilDone(what: string, isDone: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
    if (await isDone()) return;
    await systemClock.sleep(POLL_MS);
  }
  throw new RedriveError("store_busy", `${what} has not happened within ${WAIT_MS / 1000} s.`, {
    hint: "The request stays in the store. Check the process that runs the job: redrive status JOB",
  });
}

/** Finds a map or a workflow: queues never end, and have their own commands. */
async function requireEnding(engine: Engine, name: string): Promise<Job> {
  const found = await requireJob(engine, name);
  return isStanding(found) ? refuseStanding(found) : found;
}

async function requireRunning(engine: Engine, name: string): Promise<Job> {
  const found = await requireEnding(engine, name);
  const status = await statusOf(engine, found);
  if (status === "running") return found;
  const hint = `To resume it: redrive resume ${found.id}`;
  throw new RedriveError("illegal_move", `${found.id} is not running: it is ${status}.`, { hint });
}

async function readItem(engine: Engine, queue: string, itemId: string): Promise<Item> {
  const [found] = await engine.listItems({ queue, itemIds: [itemId], limit: 1 });
  if (found !== undefined) return found;
  throw new RedriveError("item_not_found", `There is no item ${itemId} in ${queue}.`);
}

async function stopJob(engine: Engine, { id }: Job, author: string): Promise<void> {
  await requestStop(engine, id, author);
  await untilDone(`The stop of ${id}`, async () => {
    const now = await engine.findJob(id);
    return now === null || (await statusOf(engine, now)) !== "running";
  });
}

const stop = command({
  summary: "Stop a running job, or one item of it, from any terminal or machine.",
  description:
    "Running attempts are ended with all their processes and do not count. A stopped item is held until `redrive continue`.",
  examples: ["redrive stop nightly", "redrive stop nightly order-7"],
  arguments: { name: job, item: maybeItem },
  run: (context, { name, item }) =>
    context.withStore(async (engine) => {
      const { author } = context;
      if (item === undefined) {
        const found = await requireRunning(engine, name);
        await stopJob(engine, found, author);
        return context.answer(
          { job_id: found.id, stopped: true },
          () => `Stopped ${found.id}. To resume it: redrive resume ${found.id}\n`,
        );
      }
      const found = await requireEnding(engine, name);
      const { itemId } = await requireItem(engine, item, found.id);
      const state = await stopItem(engine, found.id, itemId, author);
      const text =
        state === "held"
          ? `Stopped ${itemId}; it is held. To let it run again: redrive continue ${found.id} ${itemId}\n`
          : `${itemId} is ${state}.\n`;
      return context.answer({ job_id: found.id, item_id: itemId, state }, () => text);
    }),
});

async function stopItem(engine: Engine, queue: string, itemId: string, author: string) {
  const before = await readItem(engine, queue, itemId);
  if (before.state === "ready") await engine.hold(queue, [itemId], { author, reason: "stopped" });
  if (before.state === "leased") {
    await requestForItem(engine, queue, itemId, { action: "stop", author });
    await untilDone(`The stop of ${itemId}`, async () => {
      const { state } = await readItem(engine, queue, itemId);
      return state !== "leased" && state !== "ready";
    });
  }
  return (await readItem(engine, queue, itemId)).state;
}

const pause = command({
  summary: "Pause a job: nothing more is started, running items finish.",
  examples: ["redrive pause nightly --reason 'the API is slow'"],
  arguments: { name: job },
  options: { reason },
  run: (context, { name, reason: why = "" }) =>
    context.withStore(async (engine) => {
      const { id } = await requireEnding(engine, name);
      await engine.changeJob(id, { pause: { author: context.author, reason: why } });
      return context.answer(
        { job_id: id, paused: true },
        () => `Paused ${id}. To continue: redrive continue ${id}\n`,
      );
    }),
});

const goOn = command({
  summary: "Continue a paused job, or let a stopped item run again.",
  examples: ["redrive continue nightly", "redrive continue nightly order-7"],
  arguments: { name: job, item: maybeItem },
  run: (context, { name, item }) =>
    context.withStore(async (engine) => {
      const found = await requireEnding(engine, name);
      const { id } = found;
      const isRunning = (await statusOf(engine, found)) === "running";
      const rest = isRunning ? "" : ` Nobody is running ${id}; to resume it: redrive resume ${id}`;
      if (item === undefined) {
        const job = await engine.changeJob(id, { pause: null });
        const text = found.pause === undefined ? `${id} was not paused.` : `Continued ${id}.`;
        return context.answer({ job_id: job.id, paused: false }, () => `${text}${rest}\n`);
      }
      const { itemId } = await requireItem(engine, item, id);
      const { moved } = await engine.unhold(id, [itemId], { author: context.author });
      const { state } = await readItem(engine, id, itemId);
      const text = moved === 1 ? `${itemId} is ready again.` : `${itemId} was not held: it is ${state}.`;
      return context.answer({ job_id: id, item_id: itemId, state }, () => `${text}${rest}\n`);
    }),
});

const skip = command({
  summary: "Skip an item: its running attempt is ended, and it does not run again.",
  examples: ["redrive skip nightly order-7"],
  arguments: { name: job, item: oneItem },
  run: (context, { name, item }) =>
    context.withStore(async (engine) => {
      const found = await requireEnding(engine, name);
      const { itemId, state } = await requireItem(engine, item, found.id);
      if (state !== "ready" && state !== "leased" && state !== "held") {
        const hint = state === "dead" ? `To give it up: redrive dlq discard ${itemId} --reason TEXT` : "";
        throw new RedriveError("illegal_move", `${itemId} cannot be skipped: it is ${state}.`, { hint });
      }
      await requestForItem(engine, found.id, itemId, { action: "skip", author: context.author });
      if (state === "held") await engine.unhold(found.id, [itemId], { author: context.author });
      if (state === "leased")
        await untilDone(`The end of ${itemId}`, async () => {
          return (await readItem(engine, found.id, itemId)).state !== "leased";
        });
      const now = (await readItem(engine, found.id, itemId)).state;
      return context.answer({ job_id: found.id, item_id: itemId, state: now }, () =>
        now === "ready" ? `${itemId} will be skipped as soon as its turn comes.\n` : `${itemId} is ${now}.\n`,
      );
    }),
});

const cancel = command({
  summary: "Cancel a job: stop it and dismiss it, so that `redrive resume` without a job ignores it.",
  examples: ["redrive cancel nightly"],
  arguments: { name: job },
  run: (context, { name }) =>
    context.withStore(async (engine) => {
      const found = await requireEnding(engine, name);
      const status = await statusOf(engine, found);
      if (status === "completed")
        throw new RedriveError("illegal_move", `${found.id} has already completed.`);
      if (status === "running") await stopJob(engine, found, context.author);
      await dismissJob(engine, (await engine.findJob(found.id)) ?? found, context.author);
      context.answer(
        { job_id: found.id, cancelled: true },
        () => `Cancelled ${found.id}. To resume it anyway: redrive resume ${found.id}\n`,
      );
      return EXIT.done;
    }),
});

export const commands = { items, stop, pause, continue: goOn, skip, cancel };
