/** `redrive queue create|set|list|show|pause|resume`: named queues of work, and their settings. */
import { WorkError } from "../../errors.ts";
import { requireQueue } from "../../queue/find-job.ts";
import { itemViewToJson } from "../../queue/item-json.ts";
import { changeQueue, createQueue } from "../../queue/queue-settings.ts";
import { listQueues, queueToJson, summariseQueue } from "../../queue/queue-status.ts";
import { canonicalJson } from "../../std/json.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";
import { readItemView } from "../item-list.ts";
import { reason } from "../options.ts";
import { queueOptions, queueSettingsFrom } from "../queue-options.ts";
import { itemText } from "../render/item.ts";
import { pauseText, queuesText, queueText, settingsText } from "../render/queue.ts";
import { counted } from "../render/words.ts";

const name = argument("<queue>", "its name");

const create = command({
  name: "create",
  summary: "Create a queue; the same command with the same settings changes nothing.",
  examples: [
    "redrive queue create orders",
    "redrive queue create mails --retries 5 --rate 100/m --on-outage wait",
  ],
  arguments: { name: argument("<queue>", "its name: letters, digits, dots, dashes, underscores") },
  options: queueOptions,
  run: async (context, { name: id, ...flags }) => {
    const settings = queueSettingsFrom(context, flags);
    const { isNew, queue } = await context.withStore(
      async (engine) => {
        const before = await engine.findJob(id);
        const job = await createQueue(engine, id, settings);
        return { isNew: before?.kind !== "queue", queue: await summariseQueue(engine, job) };
      },
      { creates: true },
    );
    context.answer({ ...queueToJson(queue), is_new: isNew }, () =>
      isNew
        ? `Created the queue ${queue.name}.\n${settingsText(queue)}`
        : `The queue ${queue.name} exists with these settings.\n`,
    );
    if (isNew && !context.isJson) {
      context.note(`To add an item:  redrive queue add ${id} --data '{"a": 1}'`);
      context.note(`To process it:   redrive worker --queue ${id} -- COMMAND`);
    }
    return EXIT.done;
  },
});

const set = command({
  name: "set",
  summary: "Change settings of a queue; the others stay.",
  examples: ["redrive queue set orders --retries 5", "redrive queue set orders --rate none"],
  arguments: { name },
  options: queueOptions,
  run: async (context, { name: id, ...flags }) => {
    const settings = queueSettingsFrom(context, flags);
    if (Object.keys(settings).length === 0)
      throw new WorkError("usage", "No setting was given.", {
        hint: "List the settings: redrive queue set --help",
      });
    const { isChanged, queue } = await context.withStore(async (engine) => {
      const before = await engine.findJob(id);
      const job = await changeQueue(engine, id, settings);
      const isOther = canonicalJson(before?.spec ?? null) !== canonicalJson(job.spec);
      return { isChanged: isOther, queue: await summariseQueue(engine, job) };
    });
    return context.answer({ ...queueToJson(queue), is_changed: isChanged }, () =>
      isChanged ? `Changed ${id}.\n${settingsText(queue)}` : `${id} has these settings already.\n`,
    );
  },
});

const list = command({
  name: "list",
  isDefault: true,
  summary: "List queues: items by state, workers, breaker, letters.",
  examples: ["redrive queue", "redrive queue list --json"],
  run: async (context) => {
    const queues = await context.withStore(listQueues);
    return context.answer({ queues: queues.map(queueToJson) }, () => queuesText(queues, context));
  },
});

const show = command({
  name: "show",
  summary: "Show a queue with its settings, or one item with attempts, notes, result and links.",
  examples: ["redrive queue show orders", "redrive queue show orders order-7"],
  arguments: { name, item: argument("[item]", "id, or the beginning of one") },
  run: async (context, { name: id, item }) => {
    if (item === undefined) {
      const queue = await context.withStore(async (engine) =>
        summariseQueue(engine, await requireQueue(engine, id)),
      );
      return context.answer(queueToJson(queue), () => queueText(queue, context));
    }
    const view = await context.withStore(async (engine) =>
      readItemView(engine, await requireItem(engine, item, (await requireQueue(engine, id)).id)),
    );
    return context.answer(itemViewToJson(view), () => itemText(view, context));
  },
});

const pause = command({
  name: "pause",
  summary: "Pause a queue: workers get no more items; running attempts finish.",
  examples: ["redrive queue pause orders --reason 'the shop is down'"],
  arguments: { name },
  options: { reason },
  run: async (context, { name: id, reason: why = "" }) => {
    const { wasPaused, queue } = await changePause(context, id, { author: context.author, reason: why });
    return context.answer(queueToJson(queue), () => {
      if (wasPaused && queue.pause) return `${id} is paused already: ${pauseText(queue.pause)}.\n`;
      const { leased } = queue.counts;
      return `Paused ${id}.${leased > 0 ? ` ${counted(leased, "running attempt")} will finish.` : ""}\n`;
    });
  },
});

const resume = command({
  name: "resume",
  summary: "Resume a paused queue.",
  examples: ["redrive queue resume orders"],
  arguments: { name },
  run: async (context, { name: id }) => {
    const { wasPaused, queue } = await changePause(context, id, null);
    const ready = `${counted(queue.counts.ready, "item")} ready`;
    return context.answer(queueToJson(queue), () =>
      wasPaused ? `Resumed ${id}: ${ready}.\n` : `${id} was not paused.\n`,
    );
  },
});

function changePause(context: Context, id: string, change: { author: string; reason: string } | null) {
  return context.withStore(async (engine) => {
    const before = await requireQueue(engine, id);
    const job = await engine.changeJob(before.id, { pause: change });
    return { wasPaused: before.pause !== undefined, queue: await summariseQueue(engine, job) };
  });
}

export const commands = [create, set, list, show, pause, resume];
