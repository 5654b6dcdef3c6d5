/** `redrive queue items|add|import|hold|unhold`: manages the items of a queue. */
import { text as readAll } from "node:stream/consumers";
import { RedriveError } from "../../errors.ts";
import { PRIORITIES } from "../../item/item.ts";
import { type AddedItem, addItems } from "../../queue/add-items.ts";
import { requireItem } from "../../queue/find-item.ts";
import { requireQueue } from "../../queue/find-job.ts";
import { type ItemImport, importItems, type RefusedRow } from "../../queue/import-items.ts";
import { parseTimeOption, TIME_OPTION_FORMS } from "../../queue/time-option.ts";
import { compact, type Json } from "../../std/json.ts";
import { interruptible } from "../bulk.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { readJsonFile, readJsonOption, readJsonText } from "../json-input.ts";
import { absolute, choice, dryRun, flag, itemStates, reason, word } from "../options.ts";
import { clean, counted, listed, shellWord, some } from "../render/text.ts";
import { listItems, pageOptions } from "../standing.ts";
import { QUEUE_KIND } from "./queue.ts";

const queue = argument("<queue>", "its name");

const items = command({
  summary: "List the items of a queue, oldest first.",
  examples: ["redrive queue items orders", "redrive queue items orders --state dead,held"],
  arguments: { queue },
  options: {
    states: itemStates(
      "only these: ready, leased, held, done, dead, skipped, discarded; also Queued, Processing, OnHold, Processed, Failed",
    ),
    ...pageOptions,
  },
  run: (context, { queue: name, ...flags }) => listItems(context, { name, ...flags }, QUEUE_KIND),
});

const add = command({
  summary: "Add an item and print its id.",
  description: "Without --data or --file its data is read from stdin.",
  examples: [
    "redrive queue add orders --data '{\"order\": 7}' --key order-7",
    "redrive queue add orders --file order.json --due 10m --priority high",
  ],
  arguments: { queue },
  options: {
    data: word("--data <json>", "the data, or @FILE"),
    file: word("--file <file>", "a file with the data as JSON"),
    name: word("-n, --name <name>", "a name for people"),
    priority: choice(
      "--priority <priority>",
      "higher ones are processed first (default: as the queue)",
      PRIORITIES,
    ),
    key: word("--key <key>", "its id in the queue, which stays taken forever (default: a random one)"),
    due: word("--due <time>", "not before: 2030-01-31T09:00:00Z, or 10m from now (default: now)"),
    expires: word("--expires <time>", "not later; an expired item becomes a dead letter"),
    orderingKey: word(
      "--ordering-key <key>",
      "items with the same ordering key are processed one at a time, oldest first",
      {
        aliases: [{ flags: "--lane <lane>" }],
      },
    ),
  },
  run: async (context, { queue: name, data, file, due, expires, ...settings }) => {
    const given = await readData(context, { data, file });
    const [added] = await context.withStore(async (engine) => {
      const now = await engine.now();
      const times = compact({
        dueAt: readTime("--due", due, now),
        expiresAt: readTime("--expires", expires, now),
      });
      return addItems(engine, name, [{ data: given, ...settings, ...times }], { author: context.author });
    });
    return answerAdded(context, name, added ?? { outcome: "refused" });
  },
});

async function readData(
  { terminal: { cwd, stdin } }: Context,
  { data, file }: { readonly data: string | undefined; readonly file: string | undefined },
): Promise<Json> {
  if (data !== undefined && file !== undefined)
    throw new RedriveError("usage", "--data and --file cannot be used together.");
  if (data !== undefined) return readJsonOption(data, { option: "--data", cwd });
  if (file !== undefined && file !== "-") return readJsonFile(file, { option: "--file", cwd });
  if ((stdin as { isTTY?: boolean }).isTTY) {
    throw new RedriveError("usage", "No data was given.", {
      hint: `Give it as JSON: --data '{"a": 1}', --data @FILE, --file FILE, or on stdin.`,
    });
  }
  const hint = "Write one JSON value to stdin. To add many: redrive queue import QUEUE -";
  return readJsonText(await readAll(stdin), "stdin", hint);
}

function readTime(option: string, given: string | undefined, now: number): number | undefined {
  if (given === undefined) return undefined;
  const at = parseTimeOption(given, now);
  if (at !== undefined) return at;
  throw new RedriveError("usage", `${option}: "${given}" is not ${TIME_OPTION_FORMS}.`);
}

function answerAdded(context: Context, name: string, added: AddedItem): number {
  const { outcome, itemId = "", reason: why, because } = added;
  if (outcome === "refused") {
    const isTaken = because === "key_taken";
    throw new RedriveError(isTaken ? "illegal_move" : "input_invalid", `Not added: ${why}.`, {
      hint: isTaken
        ? `Show the existing one: redrive queue show ${name} ${shellWord(itemId) ?? "ITEM"}`
        : "Correct the item and add it again.",
    });
  }
  context.answer({ queue: name, item_id: itemId, outcome }, () => `${itemId}\n`);
  if (!context.isJson && outcome === "existing") context.note("The item exists already and was not changed.");
  if (!context.isJson && outcome === "replaced") context.note("Replaced the data of the existing item.");
  return EXIT.done;
}

/** The maximum number of problems in the JSON result; further ones are only counted. */
const PROBLEMS_KEPT_MAX = 1000;

const importAll = command({
  summary: "Add items from JSON Lines or CSV.",
  description: "Every wrong row is reported; the others are added.",
  examples: [
    "redrive queue import orders orders.csv --key-field order",
    "redrive queue import orders - --dry-run",
  ],
  arguments: { queue, file: argument("<file>", "the file; - is stdin") },
  options: {
    format: choice("-f, --format <format>", "default: by the name of the file, else jsonl", ["jsonl", "csv"]),
    isEnvelope: flag("--envelope", "each record is {data, key, name, priority, due, expires, ordering_key}"),
    key: word("--key-field <field>", "the field with the item's key; a.b reaches inside"),
    name: word("--name-field <field>", "the field with its name"),
    priority: word("--priority-field <field>", "the field with its priority"),
    due: word("--due-field <field>", "the field with its due time"),
    expires: word("--expires-field <field>", "the field with its expiry"),
    orderingKey: word("--ordering-key-field <field>", "the field with its ordering key", {
      aliases: [{ flags: "--lane-field <field>" }],
    }),
    isTyped: flag("--typed", "read CSV values that look like a number, true, false or null as such"),
    dryRun,
  },
  run: async (context, { queue: name, file, format, isEnvelope, isTyped, dryRun: isDry, ...fields }) => {
    const { terminal, isJson, author } = context;
    if (isEnvelope && Object.keys(fields).length > 0) {
      throw new RedriveError("usage", "--envelope and the field options cannot be used together.", {
        hint: "In an envelope the settings are called key, name, priority, due, expires and ordering_key.",
      });
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
    arguments: { queue, items: argument("<items...>", "ids, or beginnings of them") },
    options: { reason },
    run: async (context, { queue: id, items: given, ...why }) => {
      const { moved, refused } = await context.withStore(async (engine) => {
        const itemIds = new Set<string>();
        const { id: found } = await requireQueue(engine, id);
        for (const one of given) itemIds.add((await requireItem(engine, one, found)).itemId);
        return engine[name](found, [...itemIds], { author: context.author, ...why });
      });
      const left = refused.map(({ itemId, state }) => ({ item_id: itemId, state }));
      context.answer(
        { queue: id, [past]: moved, refused: left },
        () => `${did} ${counted(moved, "item")} of ${id}.\n`,
      );
      if (!context.isJson)
        for (const { itemId, state } of refused)
          context.note(`${itemId} was not changed: it is ${state ?? "gone"}, not ${needs}.`);
      return refused.length > 0 ? EXIT.refused : EXIT.done;
    },
  });
}

const hold = moveCommand({
  name: "hold",
  summary: "Hold items: take them out of line.",
  example: "redrive queue hold orders order-7 --reason 'waiting for the customer'",
  past: "held",
  did: "Held",
  needs: "ready",
});

const unhold = moveCommand({
  name: "unhold",
  aliases: ["release"],
  summary: "Put held items back in line.",
  example: "redrive queue unhold orders order-7",
  past: "released",
  did: "Put back",
  needs: "held",
});

export const commands = { items, add, import: importAll, hold, unhold };
