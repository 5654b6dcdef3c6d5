/** `redrive queue …`: named queues of work, what they are told to do, and what is in them. */
import { type Command, Option } from "commander";
import { PRIORITIES } from "../item/priority.ts";
import { UNIQUE_RULES } from "../queue/spec.ts";
import { ITEM_FAILURE_ACTIONS } from "../retry/policy.ts";
import type { Terminal } from "./context.ts";
import { call, limit, list, maxOutage, onOutage, type Report } from "./definition.ts";

export function addQueues(queue: Command, terminal: Terminal, report: Report): void {
  addMaking(queue, terminal, report);
  addLooking(queue, terminal, report);
  addFilling(queue, terminal, report);
  addHolding(queue, terminal, report);
}

function addMaking(queue: Command, terminal: Terminal, report: Report): void {
  settings(queue.command("create"))
    .description("makes a queue; the same again with the same settings changes nothing")
    .argument("<queue>", "its name: letters, digits, dots, dashes, underscores")
    .action(call(terminal, report, async () => (await import("./commands/queue-create.ts")).queueCreate));
  settings(queue.command("set"))
    .description("changes settings of a queue; what is not named stays")
    .argument("<queue>", "its name")
    .action(call(terminal, report, async () => (await import("./commands/queue-create.ts")).queueSet));
}

/** `none` takes a setting away. */
function settings(command: Command): Command {
  return command
    .optionsGroup("When an item fails:")
    .option("-r, --max-retries <n>", "how often it is tried again (default: 2)")
    .option(
      "--backoff <spec>",
      "the wait before a retry: exponential:1s:30s, linear:1s:30s, fibonacci:1s:30s, fixed:5s, list:1s,5s or none (default: exponential:1s:30s)",
    )
    .addOption(
      new Option("--on-failure <action>", "when the tries are spent (default: dlq, a letter)").choices(
        ITEM_FAILURE_ACTIONS.filter((action) => action !== "custom"),
      ),
    )
    .option("--max-losses <n>", "how often its worker may vanish before it is buried (default: 3)")
    .option("--breaker <n>", "pause the queue after so many failures in a row, or none (default: none)")
    .option("--breaker-timeout <duration>", "how long it pauses before a few are tried (default: 30s)")
    .addOption(onOutage())
    .addOption(maxOutage())
    .optionsGroup("Items:")
    .addOption(
      new Option("--priority <priority>", "of items that come without one (default: normal)").choices(
        PRIORITIES,
      ),
    )
    .addOption(
      new Option(
        "--unique <rule>",
        "what becomes of an item whose key is known: refuse it, answer with the one that is there, or replace that while it waits (default: reject)",
      ).choices(UNIQUE_RULES),
    )
    .option("--schema <file>", "a JSON Schema that the data of every item has to fit, or none")
    .option("--expires-after <duration>", "how long after it is due an item expires, or none (default: none)")
    .optionsGroup("Workers:")
    .option(
      "--lease <duration>",
      "how long a worker may be silent before it has lost its items (default: 8s)",
    )
    .option("--rate <n/s>", "what all workers together may begin: 5/s, 100/m, 1000/h or none (default: none)")
    .optionsGroup("Options:")
    .option("--description <text>", "what the queue is for");
}

function addLooking(queue: Command, terminal: Terminal, report: Report): void {
  queue
    .command("list", { isDefault: true })
    .description("lists queues: items by state, workers, breaker, letters")
    .action(call(terminal, report, async () => (await import("./commands/queue-list.ts")).queueList));
  queue
    .command("show")
    .description("shows a queue with its settings, or one item with attempts, notes, result and links")
    .argument("<queue>", "its name")
    .argument("[item]", "id, or the beginning of one")
    .action(call(terminal, report, async () => (await import("./commands/queue-show.ts")).queueShow));
  queue
    .command("items")
    .description("lists items, oldest first")
    .argument("<queue>", "its name")
    .addOption(
      list(
        "--state <states>",
        "only these: ready, leased, held, done, dead, skipped, discarded; also Queued, Processing, OnHold, Processed, Failed",
      ),
    )
    .addOption(limit("how many on a page"))
    .option("--cursor <cursor>", "the `next` of the page before")
    .action(call(terminal, report, async () => (await import("./commands/queue-items.ts")).queueItems));
}

function addFilling(queue: Command, terminal: Terminal, report: Report): void {
  queue
    .command("add")
    .description("adds an item and prints its id; without --data or --file its data is read from stdin")
    .argument("<queue>", "its name")
    .option("--data <json>", "the data, or @FILE")
    .option("--file <file>", "a file with the data as JSON")
    .option("-n, --name <name>", "what people call it")
    .addOption(
      new Option("--priority <priority>", "which come first (default: as the queue says)").choices(
        PRIORITIES,
      ),
    )
    .option("--key <key>", "what it is known by in the queue, for ever (default: a random name)")
    .option("--due <time>", "not before: 2030-01-31T09:00:00Z, or 10m from now (default: now)")
    .option("--expires <time>", "not from then on; an item that has expired becomes a letter")
    .option("--lane <lane>", "items of one lane are worked one at a time, oldest first")
    .action(call(terminal, report, async () => (await import("./commands/queue-add.ts")).queueAdd));
  queue
    .command("import")
    .description("adds items from JSON Lines or CSV; every row that is wrong is named, the others go in")
    .argument("<queue>", "its name")
    .argument("<file>", "the file; - is stdin")
    .addOption(
      new Option("-f, --format <format>", "default: by the name of the file, else jsonl").choices([
        "jsonl",
        "csv",
      ]),
    )
    .option("--envelope", "each record is {data, key, name, priority, due, expires, lane}")
    .option("--key-field <field>", "the field that an item is known by; a.b reaches inside")
    .option("--name-field <field>", "the field with its name")
    .option("--priority-field <field>", "the field with its priority")
    .option("--due-field <field>", "the field with its due time")
    .option("--expires-field <field>", "the field with its expiry")
    .option("--lane-field <field>", "the field with its lane")
    .option("--typed", "values of CSV that read as a number, true, false or null are that")
    .option("--dry-run", "only say what would be done")
    .action(call(terminal, report, async () => (await import("./commands/queue-import.ts")).queueImport));
}

function addHolding(queue: Command, terminal: Terminal, report: Report): void {
  queue
    .command("pause")
    .description("no worker gets an item of it any more; what runs comes to its end")
    .argument("<queue>", "its name")
    .option("--reason <text>", "why")
    .action(call(terminal, report, async () => (await import("./commands/queue-pause.ts")).queuePause));
  queue
    .command("resume")
    .description("ends a pause")
    .argument("<queue>", "its name")
    .action(call(terminal, report, async () => (await import("./commands/queue-pause.ts")).queueResume));
  queue
    .command("hold")
    .description("takes items out of the line")
    .argument("<queue>", "its name")
    .argument("<items...>", "ids, or the beginnings of them")
    .option("--reason <text>", "why")
    .action(call(terminal, report, async () => (await import("./commands/queue-hold.ts")).queueHold));
  queue
    .command("release")
    .description("puts items that were held back into the line")
    .argument("<queue>", "its name")
    .argument("<items...>", "ids, or the beginnings of them")
    .option("--reason <text>", "why")
    .action(call(terminal, report, async () => (await import("./commands/queue-hold.ts")).queueRelease));
}
