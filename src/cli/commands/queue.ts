/** `redrive queue create|set|list|show|pause|resume`: manages named queues and their settings. */
import { RedriveError } from "../../errors.ts";
import { requireItem } from "../../queue/find-item.ts";
import { requireQueue } from "../../queue/find-job.ts";
import { itemViewToJson, readItemView } from "../../queue/item-json.ts";
import { changeQueue, createQueue } from "../../queue/queue-settings.ts";
import { listQueues, type QueueSummary, queueToJson, summariseQueue } from "../../queue/queue-status.ts";
import { argument, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { queueOptions, queueSettingsFrom } from "../queue-options.ts";
import { itemText } from "../render/item.ts";
import { queueSettingsText, queuesText, queueText } from "../render/queue.ts";
import { some } from "../render/text.ts";
import { applySettings, pauseCommands, type StandingKind } from "../standing.ts";

const name = argument("<queue>", "its name");

export const QUEUE_KIND: StandingKind<QueueSummary> = {
  family: "queue",
  word: "item",
  form: "<queue>",
  find: requireQueue,
  summarise: summariseQueue,
  toJson: queueToJson,
};

const create = command({
  summary: "Create a queue; the same command with the same settings changes nothing.",
  examples: [
    "redrive queue create orders",
    "redrive queue create mails --retries 5 --rate 100/m --on-outage wait",
  ],
  arguments: { name: argument("<queue>", "its name: letters, digits, dots, dashes, underscores") },
  options: queueOptions,
  run: async (context, { name: id, ...flags }) => {
    const settings = queueSettingsFrom(context, flags);
    const { isNew, found } = await context.withStore(
      (engine) =>
        applySettings(engine, id, { kind: QUEUE_KIND, apply: () => createQueue(engine, id, settings) }),
      { creates: true },
    );
    context.answer({ ...queueToJson(found), is_new: isNew }, () =>
      isNew
        ? `Created the queue ${id}.\n${queueSettingsText(found)}`
        : `The queue ${id} exists with these settings.\n`,
    );
    if (isNew && !context.isJson) {
      context.note(`To add an item:  redrive queue add ${id} --data '{"a": 1}'`);
      context.note(`To process it:   redrive worker --queue ${id} -- COMMAND`);
    }
    return EXIT.done;
  },
});

const set = command({
  summary: "Change settings of a queue; the others stay.",
  examples: ["redrive queue set orders --retries 5", "redrive queue set orders --rate none"],
  arguments: { name },
  options: queueOptions,
  run: async (context, { name: id, ...flags }) => {
    const settings = queueSettingsFrom(context, flags);
    if (Object.keys(settings).length === 0)
      throw new RedriveError("usage", "No setting was given.", {
        hint: "List the settings: redrive queue set --help",
      });
    const { isChanged, found } = await context.withStore((engine) =>
      applySettings(engine, id, { kind: QUEUE_KIND, apply: () => changeQueue(engine, id, settings) }),
    );
    return context.answer({ ...queueToJson(found), is_changed: isChanged }, () =>
      isChanged ? `Changed ${id}.\n${queueSettingsText(found)}` : `${id} has these settings already.\n`,
    );
  },
});

const list = command({
  isDefault: true,
  summary: "List queues: items by state, workers, breaker, letters.",
  examples: ["redrive queue", "redrive queue list --json"],
  run: async (context) => {
    const queues = await context.withStore(listQueues);
    return context.answer({ queues: queues.map(queueToJson) }, () => queuesText(queues, context));
  },
});

const show = command({
  summary: "Show a queue with its settings, or one item with attempts, notes, result and links.",
  examples: ["redrive queue show orders", "redrive queue show orders order-7"],
  arguments: { name, item: argument("[item]", "id, or the beginning of one") },
  run: (context, { name: id, item }) =>
    context.withStore(async (engine) => {
      const job = await requireQueue(engine, id);
      if (item === undefined) {
        const queue = await summariseQueue(engine, job);
        return context.answer(queueToJson(queue), () => queueText(queue, context));
      }
      const view = await readItemView(engine, await requireItem(engine, item, job.id));
      return context.answer(itemViewToJson(view), () => itemText(view, context));
    }),
});

const pausing = pauseCommands(QUEUE_KIND, {
  pause: "Pause a queue: workers get no more items; running attempts finish.",
  resume: "Resume a paused queue.",
  example: "orders",
  why: "'the shop is down'",
  onPause: ({ counts: { leased } }) => {
    const running = some(leased, leased === 1 ? "running attempt" : "running attempts");
    return running && ` ${running} will finish.`;
  },
});

export const commands = { create, set, list, show, ...pausing };
