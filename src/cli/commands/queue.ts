/** `redrive queue …`: manages named queues, their settings and their items. */

import { text as readAll } from "node:stream/consumers";
import { PRIORITIES } from "../../item/item.ts";
import { type AddedItem, addItems, recordAdded } from "../../queue/add-items.ts";
import { itemViewToJson, readItemView, requireItem } from "../../queue/find-item.ts";
import { requireQueue } from "../../queue/find-job.ts";
import { type ItemImport, importItems, type RefusedRow } from "../../queue/import-items.ts";
import { changeQueue, createQueue } from "../../queue/queue-settings.ts";
import { listQueues, type QueueSummary, queueToJson, summariseQueue } from "../../queue/queue-status.ts";
import { parseTimeOption, TIME_OPTION_FORMS } from "../../queue/time-option.ts";
import { compact, type Json } from "../../std/json.ts";
import { interruptible } from "../bulk.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { conflict, EXIT, userError } from "../exit-code.ts";
import { readJsonFile, readJsonOption, readJsonText } from "../json-input.ts";
import {
  absolute,
  choice,
  dryRun,
  flag,
  itemBackoff,
  itemStates,
  reason,
  retries,
  word,
} from "../options.ts";
import { queueOptions, queueSettingsFrom } from "../queue-options.ts";
import { itemText } from "../render/item.ts";
import { queueSettingsText, queuesText, queueText } from "../render/queue.ts";
import { clean, counted, listed, shellWord, some } from "../render/text.ts";
import { applySettings, listItems, pageOptions, pauseCommands, type StandingKind } from "../standing.ts";

const queue = argument("<queue>", "its name");

const QUEUE_KIND: StandingKind<QueueSummary> = {
  family: "queue",
  word: "item",
  form: "<queue>",
  find: requireQueue,
  summarise: summariseQueue,
  toJson: queueToJson,
};

const create = command({
  summary: "Create a queue; if it exists with the same settings, nothing changes.",
  examples: [
    "redrive queue create orders",
    "redrive queue create mails --retries 5 --rate 100/m --on-outage wait",
  ],
  arguments: { name: argument("<queue>", "the queue name: letters, digits, dots, dashes, underscores") },
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
        : `The queue ${id} already exists with these settings.\n`,
    );
    if (isNew && !context.isJson) {
      context.note(`To add an item:  redrive queue add ${id} '{"a": 1}'`);
      context.note(`To process it:   redrive worker --queue ${id} -- COMMAND`);
    }
    return EXIT.done;
  },
});

const set = command({
  summary: "Change the given settings of a queue.",
  examples: ["redrive queue set orders --retries 5", "redrive queue set orders --rate none"],
  arguments: { name: queue },
  options: queueOptions,
  run: async (context, { name: id, ...flags }) => {
    const settings = queueSettingsFrom(context, flags);
    if (Object.keys(settings).length === 0)
      throw userError("usage", "No setting was given.", "List the settings: redrive queue set --help");
    const { isChanged, found } = await context.withStore((engine) =>
      applySettings(engine, id, { kind: QUEUE_KIND, apply: () => changeQueue(engine, id, settings) }),
    );
    return context.answer({ ...queueToJson(found), is_changed: isChanged }, () =>
      isChanged ? `Changed ${id}.\n${queueSettingsText(found)}` : `${id} already has these settings.\n`,
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
  arguments: { name: queue, item: argument("[item]", "an item id or a unique prefix") },
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

const items = command({
  summary: "List the items of a queue, oldest first.",
  examples: ["redrive queue items orders", "redrive queue items orders --state dead,held"],
  arguments: { queue },
  options: {
    states: itemStates(
      "only items in these states: ready, leased, held, done, dead, skipped, discarded; also Queued, Processing, OnHold, Processed, Failed",
    ),
    ...pageOptions,
  },
  run: (context, { queue: name, ...flags }) => listItems(context, { name, ...flags }, QUEUE_KIND),
});

const add = command({
  summary: "Add an item and print its id.",
  description:
    "Without DATA or --file the data is read from stdin. To add many items: `redrive queue import`.",
  examples: [
    "redrive queue add orders '{\"order\": 7}' --key order-7",
    "redrive queue add orders --file order.json --due 10m --priority high",
    "redrive queue add orders 7 --retries 10 --backoff fixed:1m",
  ],
  arguments: { queue, json: argument("[data]", "the data as JSON, or @FILE") },
  options: {
    data: word("--data <json>", "the same as DATA"),
    file: word("--file <file>", "a file with the data as JSON"),
    name: word("-n, --name <name>", "a display name"),
    priority: choice(
      "--priority <priority>",
      "the priority; high items are processed first (default: the queue's setting)",
      PRIORITIES,
    ),
    key: word("--key <key>", "the item id, which must be new in this queue (default: random)"),
    due: word(
      "--due <time>",
      "when the item may start: 2030-01-31T09:00:00Z, or 10m from now (default: now)",
    ),
    expires: word(
      "--expires <time>",
      "when the item expires and becomes a dead letter: a time, or 10m from now",
    ),
    orderingKey: word(
      "--ordering-key <key>",
      "items with the same ordering key are processed one at a time, oldest first",
      {
        aliases: [{ flags: "--lane <lane>" }],
      },
    ),
    retries: retries("how often the item is retried (default: the queue's setting)"),
    backoff: itemBackoff,
  },
  run: async (context, { queue: name, json, data, file, due, expires, ...settings }) => {
    if (json !== undefined && data !== undefined) throw conflict("DATA", "--data");
    const given = await readData(context, { data: json ?? data, file });
    const [added] = await context.withStore(async (engine) => {
      const now = await engine.now();
      const times = compact({
        dueAt: readTime("--due", due, now),
        expiresAt: readTime("--expires", expires, now),
      });
      const { author } = context;
      const results = await addItems(engine, name, [{ data: given, ...settings, ...times }], { author });
      await recordAdded(engine, name, results);
      return results;
    });
    return answerAdded(context, name, added ?? { outcome: "refused" });
  },
});

async function readData(
  { terminal: { cwd, stdin } }: Context,
  { data, file }: { data: string | undefined; file: string | undefined },
): Promise<Json> {
  if (data !== undefined && file !== undefined) throw conflict("DATA", "--file");
  if (data !== undefined) return readJsonOption(data, { option: "the data", cwd });
  if (file !== undefined && file !== "-") return readJsonFile(file, { option: "--file", cwd });
  if ((stdin as { isTTY?: boolean }).isTTY) {
    const hint = `Give the data as JSON: redrive queue add QUEUE '{"a": 1}', or @FILE, --file FILE, or stdin.`;
    throw userError("usage", "No data was given.", hint);
  }
  const hint = "Write one JSON value to stdin. To add many items: redrive queue import QUEUE -";
  return readJsonText(await readAll(stdin), "stdin", hint);
}

function readTime(option: string, given: string | undefined, now: number): number | undefined {
  if (given === undefined) return undefined;
  const at = parseTimeOption(given, now);
  if (at !== undefined) return at;
  throw userError("usage", `${option}: "${given}" is not ${TIME_OPTION_FORMS}.`, `Example: ${option} 10m`);
}

function answerAdded(context: Context, name: string, added: AddedItem): number {
  const { outcome, itemId = "", reason: why, because } = added;
  if (outcome === "refused") {
    const isTaken = because === "key_taken";
    const existing = `To show the existing item: redrive queue show ${name} ${shellWord(itemId) ?? "ITEM"}`;
    const hint = isTaken ? existing : "Correct the item and add it again.";
    throw userError(isTaken ? "illegal_move" : "input_invalid", `The item was not added: ${why}.`, hint);
  }
  context.answer({ queue: name, item_id: itemId, outcome }, () => `${itemId}\n`);
  if (!context.isJson && outcome === "existing") context.note("The item already exists and was not changed.");
  if (!context.isJson && outcome === "replaced") context.note("Replaced the data of the existing item.");
  return EXIT.done;
}

/** The maximum number of problems in the JSON result; further ones are only counted. */
const PROBLEMS_KEPT_MAX = 1000;

const importAll = command({
  summary: "Add items from JSON Lines or CSV.",
  description: "Invalid rows are reported; the others are added.",
  examples: [
    "redrive queue import orders orders.csv --key-field order",
    "redrive queue import orders - --dry-run",
  ],
  arguments: { queue, file: argument("<file>", "the file; - is stdin") },
  options: {
    format: choice("-f, --format <format>", "the format (default: from the file extension, else jsonl)", [
      "jsonl",
      "csv",
    ]),
    isEnvelope: flag("--envelope", "each record is {data, key, name, priority, due, expires, ordering_key}"),
    key: word("--key-field <field>", "the field with the item's key, which may be nested: a.b"),
    name: word("--name-field <field>", "the field with the name"),
    priority: word("--priority-field <field>", "the field with the priority"),
    due: word("--due-field <field>", "the field with the due time"),
    expires: word("--expires-field <field>", "the field with the expiry"),
    orderingKey: word("--ordering-key-field <field>", "the field with the ordering key", {
      aliases: [{ flags: "--lane-field <field>" }],
    }),
    isTyped: flag("--typed", "parse numbers, true, false and null in CSV values"),
    dryRun,
  },
  run: async (context, { queue: name, file, format, isEnvelope, isTyped, dryRun: isDry, ...fields }) => {
    const { terminal, isJson, author } = context;
    if (isEnvelope && Object.keys(fields).length > 0) {
      const hint = "In an envelope the fields are called key, name, priority, due, expires and ordering_key.";
      throw conflict("--envelope", "the field options", hint);
    }
    const from = file === "-" ? file : absolute(terminal.cwd, file);
    const problems: RefusedRow[] = [];
    const onRefused = (row: RefusedRow) => {
      if (!isJson) context.note(`${file === "-" ? "stdin" : file}:${row.line}: ${clean(row.reason)}`);
      else if (problems.length < PROBLEMS_KEPT_MAX) problems.push(row);
    };
    const how = { author, isDry, isTyped, isEnvelope, fields, stdin: terminal.stdin, onRefused };
    const { result, interrupted } = await interruptible(context, (engine, signal) =>
      importItems(engine, name, from, { ...how, signal, ...(format && { format }) }),
    );
    const { brokenOff, ...counts } = result;
    const document = { queue: name, ...counts, problems };
    const { read, refused } = result;
    const code = refused === 0 ? EXIT.done : refused === read ? EXIT.usage : EXIT.lettersLeft;
    return context.answer(
      compact({ ...document, dry_run: isDry || undefined, broken_off: brokenOff }),
      () => importText(name, result, isDry),
      interrupted ?? code,
    );
  },
});

function importText(name: string, result: ItemImport, isDry: boolean): string {
  const { read, added, existing, replaced, refused, brokenOff } = result;
  const parts = listed([
    `${added} ${isDry ? "would be " : ""}added`,
    ...[some(existing, "existing"), some(replaced, "replaced"), some(refused, "refused")],
  ]);
  const end = brokenOff === undefined ? "" : `Stopped early: ${clean(brokenOff)}.\n`;
  return `${counted(read, "row")} for ${name}: ${parts}.\n${end}`;
}

/** Defines the commands `hold` and `unhold`, which move named items between ready and held. */
function moveCommand(words: {
  readonly name: "hold" | "unhold";
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly example: string;
  /** The name of the count in the JSON result. */
  readonly past: "held" | "released";
  readonly did: string;
  readonly needs: "ready" | "held";
}) {
  const { name, did, past, needs, example, ...help } = words;
  return command({
    ...help,
    examples: [example],
    arguments: { queue, items: argument("<items...>", "item ids or unique prefixes") },
    options: { reason },
    run: async (context, { queue: id, items: given, ...why }) => {
      const { moved, refused } = await context.withStore(async (engine) => {
        const itemIds = new Set<string>();
        const { id: found } = await requireQueue(engine, id);
        for (const one of given) itemIds.add((await requireItem(engine, one, found)).itemId);
        return engine[name](found, [...itemIds], { author: context.author, ...why });
      });
      const left = refused.map(({ itemId, state }) => ({ item_id: itemId, state }));
      const text = `${did} ${counted(moved, "item")} of ${id}.\n`;
      context.answer({ queue: id, [past]: moved, refused: left }, () => text);
      if (!context.isJson)
        for (const { itemId, state } of refused)
          context.note(`${itemId} was not changed: it is ${state ?? "gone"}, not ${needs}.`);
      return refused.length > 0 ? EXIT.refused : EXIT.done;
    },
  });
}

const hold = moveCommand({
  name: "hold",
  summary: "Hold items: workers skip them until they are released with unhold.",
  example: "redrive queue hold orders order-7 --reason 'waiting for the customer'",
  past: "held",
  did: "Held",
  needs: "ready",
});

const unhold = moveCommand({
  name: "unhold",
  aliases: ["release"],
  summary: "Return held items to the queue.",
  example: "redrive queue unhold orders order-7",
  past: "released",
  did: "Put back",
  needs: "held",
});

export const commands = { create, set, list, show, ...pausing, items, add, import: importAll, hold, unhold };
