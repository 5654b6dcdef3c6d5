/**
 * `redrive items|stop|pause|continue|skip|cancel`: lists the items of a job, and sends requests to the
 * process that runs it.
 */
import type { Item } from "../../item/item.ts";
import { requireJob } from "../../queue/find-job.ts";
import { type ItemPage, itemPageToJson, readItemPage } from "../../queue/item-page.ts";
import { statusOf } from "../../queue/job-summary.ts";
import {
  cancelJob,
  continueItem,
  continueJob,
  pauseJob,
  requireEndingJob,
  skipItem,
  stopItem,
  stopJob,
} from "../../service/control-job.ts";
import { asText } from "../../std/json.ts";
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
    const page = await context.withStore(async (engine) => {
      const { id: queue } = await requireJob(engine, name);
      return readItemPage(engine, { queue, after, limit, states });
    });
    return context.answer(
      itemPageToJson(page),
      () => itemsText(context, page) + nextPageText(context, page.next),
    );
  },
});

function itemsText({ paint, columns }: Context, { items: shown, usageOf }: ItemPage): string {
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

const stop = command({
  summary: "Stop a running job, or one item of it, from any terminal or machine.",
  description:
    "Running attempts are ended with all their processes and do not count. A stopped item is held until `redrive continue`.",
  examples: ["redrive stop nightly", "redrive stop nightly order-7"],
  arguments: { name: job, item: maybeItem },
  run: (context, { name, item }) =>
    context.withStore(async (engine) => {
      const deps = { engine, author: context.author };
      if (item === undefined) {
        const { id } = await stopJob(deps, name);
        return context.answer(
          { job_id: id, stopped: true },
          () => `Stopped ${id}. To resume it: redrive resume ${id}\n`,
        );
      }
      const { jobId, itemId, state } = await stopItem(deps, name, item);
      const text =
        state === "held"
          ? `Stopped ${itemId}; it is held. To let it run again: redrive continue ${jobId} ${itemId}\n`
          : `${itemId} is ${state}.\n`;
      return context.answer({ job_id: jobId, item_id: itemId, state }, () => text);
    }),
});

const pause = command({
  summary: "Pause a job: nothing more is started, running items finish.",
  examples: ["redrive pause nightly --reason 'the API is slow'"],
  arguments: { name: job },
  options: { reason },
  run: (context, { name, reason: why = "" }) =>
    context.withStore(async (engine) => {
      const { id } = await pauseJob({ engine, author: context.author }, name, why);
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
      const deps = { engine, author: context.author };
      const found = await requireEndingJob(engine, name);
      const { id } = found;
      const isRunning = (await statusOf(engine, found)) === "running";
      const rest = isRunning ? "" : ` Nobody is running ${id}; to resume it: redrive resume ${id}`;
      if (item === undefined) {
        await continueJob(deps, id);
        const text = found.pause === undefined ? `${id} was not paused.` : `Continued ${id}.`;
        return context.answer({ job_id: id, paused: false }, () => `${text}${rest}\n`);
      }
      const { itemId, state, moved } = await continueItem(deps, id, item);
      const text = moved ? `${itemId} is ready again.` : `${itemId} was not held: it is ${state}.`;
      return context.answer({ job_id: id, item_id: itemId, state }, () => `${text}${rest}\n`);
    }),
});

const skip = command({
  summary: "Skip an item: its running attempt is ended, and it does not run again.",
  examples: ["redrive skip nightly order-7"],
  arguments: { name: job, item: oneItem },
  run: (context, { name, item }) =>
    context.withStore(async (engine) => {
      const { jobId, itemId, state } = await skipItem({ engine, author: context.author }, name, item);
      return context.answer({ job_id: jobId, item_id: itemId, state }, () =>
        state === "ready" ? `${itemId} will be skipped instead of being run.\n` : `${itemId} is ${state}.\n`,
      );
    }),
});

const cancel = command({
  summary: "Cancel a job: stop it and dismiss it, so that `redrive resume` without a job ignores it.",
  examples: ["redrive cancel nightly"],
  arguments: { name: job },
  run: (context, { name }) =>
    context.withStore(async (engine) => {
      const { id } = await cancelJob({ engine, author: context.author }, name);
      context.answer(
        { job_id: id, cancelled: true },
        () => `Cancelled ${id}. To resume it anyway: redrive resume ${id}\n`,
      );
      return EXIT.done;
    }),
});

export const commands = { items, stop, pause, continue: goOn, skip, cancel };
