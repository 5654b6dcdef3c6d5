/** `redrive receipts …`: where receipts go, sending them through outages, and bringing back those that were refused. */
import { type Command, Option } from "commander";
import type { Terminal } from "./context.ts";
import { call, dueWithin, limit, list, maxOutage, onOutage, type Report, storeWait } from "./definition.ts";

export function addReceipts(receipts: Command, terminal: Terminal, report: Report): void {
  addTargets(receipts, terminal, report);
  addSending(receipts, terminal, report);
  addLooking(receipts, terminal, report);
  addPausing(receipts, terminal, report);
}

/** `none` takes a setting away. */
function addTargets(receipts: Command, terminal: Terminal, report: Report): void {
  receipts
    .command("target")
    .description("makes a target, or changes what is named; without options it shows the target")
    .argument("<target>", "its name: letters, digits, dots, dashes, underscores")
    .optionsGroup("Where receipts go:")
    .option("--url <url>", "the address, http or https")
    .addOption(
      new Option("--protocol <protocol>", "a POST of JSON, or an MCP tool call (default: http)").choices([
        "http",
        "mcp",
      ]),
    )
    .option("--tool <name>", "the tool that mcp calls (default: asyncgate.complete)")
    .option("--key-argument <name>", "the argument of the tool that takes the idempotency key, or none")
    .addOption(list("--header <name:value>", "a header that is sent along, nothing secret; or none"))
    .option("--id-header <name>", "the header with the idempotency key (default: Idempotency-Key)")
    .addOption(
      new Option("--token-env <name>", "send the bearer token of this environment variable").conflicts(
        "tokenFile",
      ),
    )
    .option("--token-file <file>", "send the bearer token that is in this file; a new one needs no restart")
    .addOption(
      new Option("--no-token", "send no token any more")
        .conflicts(["tokenEnv", "tokenFile"])
        .default(undefined, ""),
    )
    .option("--timeout <duration>", "for one try (default: 10s)")
    .option("--max-answer <bytes>", "the longest answer that is read (default: 1048576)")
    .option("--order-field <field>", "receipts with the same value here go one after the other, or none")
    .optionsGroup("When a try fails:")
    .option("-r, --retries <n>", "how often a receipt is tried again; 0 is once (default: 4)")
    .addOption(
      new Option(
        "--backoff-base <n>",
        "the waits are its powers in seconds (default: 2, so 2s 4s 8s 16s)",
      ).conflicts("backoff"),
    )
    .option(
      "--backoff <spec>",
      "another wait: exponential:1s:30s, linear:1s:30s, fixed:5s, list:1s,5s or none",
    )
    .addOption(onOutage())
    .addOption(maxOutage())
    .option("--breaker <n>", "wait after so many failures in a row, or none (default: none)")
    .option("--breaker-timeout <duration>", "how long it waits before a few are tried (default: 30s)")
    .option("--max-losses <n>", "how often its process may vanish before it is a letter (default: 20)")
    .optionsGroup("Options:")
    .option(
      "--rate <n/s>",
      "what all processes together may send: 5/s, 100/m, 1000/h or none (default: none)",
    )
    .option("--lease <duration>", "how long a process may be silent before others take over (default: 8s)")
    .option("--description <text>", "what the target is for")
    .action(
      call(terminal, report, async () => (await import("./commands/receipts-target.ts")).receiptsTarget),
    );
}

function addSending(receipts: Command, terminal: Terminal, report: Report): void {
  receipts
    .command("send")
    .description(
      "keeps receipts in the store, then delivers them and waits; without --data or --file it reads stdin",
    )
    .argument("<target>", "its name")
    .option("--data <json>", "the receipt, or @FILE")
    .option("--file <file>", "one JSON receipt, an array of them, or JSON Lines; - is stdin")
    .addOption(new Option("-f, --format <format>", "default: by what is there").choices(["json", "jsonl"]))
    .addOption(
      new Option(
        "--key <key>",
        "what the receipt is known by, for ever (default: made from its content)",
      ).conflicts("keyField"),
    )
    .option("--key-field <field>", "the field with the key; a.b reaches inside")
    .option("--order <key>", "receipts of the same key go one after the other")
    .option("--wait <duration>", "how long to wait for the end; then exit code 75 (default: until it comes)")
    .option("--no-wait", "only keep them; `receipts deliver` or a service delivers")
    .option("-j, --concurrency <n>", "how many are on their way at a time (default: 10)")
    .addOption(mirror())
    .action(call(terminal, report, async () => (await import("./commands/receipts-send.ts")).receiptsSend));
  receipts
    .command("deliver")
    .description("delivers what waits, until a signal comes")
    .argument("[targets...]", "their names (default: all there are)")
    .option("-j, --concurrency <n>", "how many are on their way at a time, of each target (default: 10)")
    .option(
      "--rate <n/s>",
      "what this process may send of each target: 5/s, 100/m, 1000/h (default: no limit)",
    )
    .option("--drain", "end when nothing waits any more that is due, or soon will be")
    .addOption(dueWithin())
    .option(
      "--no-auto-recover",
      "leave letters that died of an outage to `receipts recover` (default: they are sent again once the target takes receipts)",
    )
    .option(
      "--drain-timeout <duration>",
      "after a signal, how long what is on its way may take (default: 30s)",
    )
    .option(
      "--store-wait <duration>",
      "how long to wait for a store that does not answer (default: for ever)",
    )
    .option("-q, --quiet", "no progress, only the summary")
    .addOption(mirror())
    .action(
      call(terminal, report, async () => (await import("./commands/receipts-deliver.ts")).receiptsDeliver),
    );
  receipts
    .command("recover")
    .description(
      "sends the letters of a target again, if it can be reached; each leaves when it is delivered",
    )
    .argument("<target>", "its name")
    .option("--rate <n/s>", "how many are sent at most, e.g. 5/s or 100/m (default: no limit)")
    .option("--canary", "one of each group first, then 1 %, 10 %, all; stops when the same failure returns")
    .option("--dry-run", "only say what would be sent")
    .option("-y, --yes", "do not ask")
    .option("-q, --quiet", "no progress, only the summary")
    .addOption(mirror())
    .addOption(storeWait())
    .action(
      call(terminal, report, async () => (await import("./commands/receipts-recover.ts")).receiptsRecover),
    );
}

function mirror(): Option {
  return new Option(
    "--mirror <file>",
    "keep the letters as a receipts.json in this file too, written whole or not at all",
  );
}

function addLooking(receipts: Command, terminal: Terminal, report: Report): void {
  receipts
    .command("list", { isDefault: true })
    .description("lists the targets, or the receipts of one, oldest first")
    .argument("[target]", "its name")
    .addOption(list("--state <states>", "only these receipts: ready, leased, held, done, dead, discarded"))
    .addOption(limit("how many on a page"))
    .option("--cursor <cursor>", "the `next` of the page before")
    .action(call(terminal, report, async () => (await import("./commands/receipts-list.ts")).receiptsList));
  receipts
    .command("inspect")
    .description("shows a receipt with all its tries")
    .argument("<key>", "its key, or the beginning of it")
    .option("--target <target>", "the target it goes to")
    .action(
      call(terminal, report, async () => (await import("./commands/receipts-inspect.ts")).receiptsInspect),
    );
}

function addPausing(receipts: Command, terminal: Terminal, report: Report): void {
  receipts
    .command("pause")
    .description("nothing is sent to the target any more; receipts are kept")
    .argument("<target>", "its name")
    .option("--reason <text>", "why")
    .action(call(terminal, report, async () => (await import("./commands/receipts-pause.ts")).receiptsPause));
  receipts
    .command("resume")
    .description("ends a pause, also the one that a refused token made")
    .argument("<target>", "its name")
    .action(
      call(terminal, report, async () => (await import("./commands/receipts-pause.ts")).receiptsResume),
    );
}
