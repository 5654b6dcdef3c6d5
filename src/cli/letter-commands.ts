/** `redrive dlq …`: every command on letters with its options and help. */
import { type Command, Option } from "commander";
import { LETTER_ORDERS } from "../engine.ts";
import { PRIORITIES } from "../item/priority.ts";
import type { Terminal } from "./context.ts";
import { bulk, call, limit, list, ofJob, type Report, selection, storeWait } from "./definition.ts";

export function addLetters(dlq: Command, terminal: Terminal, report: Report): void {
  addFinding(dlq, terminal, report);
  addRepairing(dlq, terminal, report);
  addDeciding(dlq, terminal, report);
  addExchange(dlq, terminal, report);
}

function addFinding(dlq: Command, terminal: Terminal, report: Report): void {
  selection(dlq.command("list"))
    .description("lists letters, newest first")
    .argument("[job]", "id or name (default: all jobs)")
    .addOption(new Option("--sort <order>", "by what").choices(LETTER_ORDERS).default("newest", "newest"))
    .addOption(
      list("--columns <names>", "which columns, e.g. item,died,attempts,message; `all` is every one"),
    )
    .addOption(limit("how many on a page"))
    .option("--cursor <cursor>", "the `next` of the page before")
    .action(call(terminal, report, async () => (await import("./commands/dlq-list.ts")).dlqList));
  ofJob(dlq.command("inspect"), "the job it belongs to")
    .description("shows a letter: data, every attempt, output, log, changes, notes, what to try next")
    .argument("<item>", "id, or the beginning of one")
    .action(call(terminal, report, async () => (await import("./commands/dlq-inspect.ts")).dlqInspect));
  ofJob(dlq.command("show"), "the job that the item belongs to")
    .description("the letters of a job, or one letter")
    .argument("<job-or-item>", "id or name of a job, or id of an item")
    .action(call(terminal, report, async () => (await import("./commands/dlq-show.ts")).dlqShow));
  selection(dlq.command("analyze"))
    .alias("analyse")
    .description("why letters died: groups, error types, when")
    .argument("[job]", "id or name (default: all jobs)")
    .option("--export <file>", "write the analysis to a JSON file too")
    .action(call(terminal, report, async () => (await import("./commands/dlq-analyze.ts")).dlqAnalyze));
  dlq
    .command("stats")
    .description("the queue in numbers: size, oldest, arrivals, success of retries, room left")
    .argument("[job]", "id or name (default: all jobs)")
    .action(call(terminal, report, async () => (await import("./commands/dlq-stats.ts")).dlqStats));
}

function addRepairing(dlq: Command, terminal: Terminal, report: Report): void {
  bulk(dlq.command("retry"))
    .alias("reprocess")
    .description("runs the work of letters again; a letter leaves the queue when it has succeeded")
    .argument("[job]", "id or name (default: the only job with letters)")
    .argument("[items...]", "only these items")
    .option(
      "--force",
      "also letters that need a person, cannot go well or came back too often (a person has looked)",
    )
    .option("--canary", "one of each group first, then 1 %, 10 %, all; stops when the same failure returns")
    .option("--parallel <n>", "how many run at a time (default: as the job)")
    .option("--rate <n/s>", "how many are started at most, e.g. 5/s or 100/m (default: no limit)")
    .option("--delay <duration>", "how long to wait before the first of them (default: 0)")
    .option("-r, --max-retries <n>", "how often each is tried again (default: as the job)")
    .addOption(
      new Option(
        "--priority <priority>",
        "of their items from now on, or of the new ones (default: as it is)",
      ).choices(PRIORITIES),
    )
    .option("--workflow <file>", "run them with this corrected workflow; the job keeps it")
    .option(
      "--as-new",
      "of a queue: send each as another item, Requeue-NAME, linked with the letter, which is closed",
    )
    .addOption(list("--set <path=cel>", "with --as-new: sets a field of the new item's data"))
    .option("--patch <json>", "with --as-new: a JSON merge patch of the new item's data, or @FILE")
    .option("--detach", "only send them back to the job; a runner of the job or `ops resume` does the work")
    .option("-q, --quiet", "neither progress nor the commands' output")
    .addOption(storeWait())
    .action(call(terminal, report, async () => (await import("./commands/dlq-retry.ts")).dlqRetry));
  bulk(dlq.command("edit"))
    .description("corrects the data of letters; the original stays, and `ops undo` takes it back")
    .argument("[items...]", "ids, or the beginnings of them (default: all that are selected)")
    .addOption(list("--set <path=cel>", 'sets a field, e.g. \'url=item.url.replace("http:", "https:")\''))
    .option("--patch <json>", "a JSON merge patch (RFC 7396), or @FILE")
    .option("--schema <file>", "refuse data that this JSON Schema does not allow")
    .option("--note <text>", "why; kept with the change")
    .option("--show <n>", "how many changes the preview shows (default: 5)")
    .action(call(terminal, report, async () => (await import("./commands/dlq-edit.ts")).dlqEdit));
  bulk(dlq.command("fix"))
    .description("applies the fixes of redrive.yml to the letters they match, and runs those again")
    .argument("[job]", "id or name (default: the only job with letters)")
    .addOption(list("--rule <names>", "only these rules"))
    .option("-q, --quiet", "neither progress nor the commands' output")
    .action(call(terminal, report, async () => (await import("./commands/dlq-fix.ts")).dlqFix));
  ofJob(dlq.command("evidence"), "the job it belongs to")
    .description("lists the files that a letter's attempts named as evidence, or copies them")
    .argument("<item>", "id, or the beginning of one")
    .option("-a, --attempt <n>", "of this attempt (default: of all)")
    .option("--out <folder>", "copy them here, if they are still what they were")
    .action(call(terminal, report, async () => (await import("./commands/dlq-evidence.ts")).dlqEvidence));
  ofJob(dlq.command("note"), "the job it belongs to")
    .description("writes a note on a letter, with your name and the time")
    .argument("<item>", "id, or the beginning of one")
    .argument("<text>", "the note")
    .action(call(terminal, report, async () => (await import("./commands/dlq-note.ts")).dlqNote));
}

function addDeciding(dlq: Command, terminal: Terminal, report: Report): void {
  bulk(dlq.command("discard"))
    .description("gives letters up, with a reason; `dlq restore` brings them back")
    .argument("[items...]", "ids, or the beginnings of them (default: all that are selected)")
    .requiredOption("--reason <text>", "why; kept with each letter")
    .action(call(terminal, report, async () => (await import("./commands/dlq-discard.ts")).dlqDiscard));
  bulk(dlq.command("restore"))
    .description("brings discarded letters back")
    .argument("[items...]", "ids, or the beginnings of them (default: all that are selected)")
    .action(call(terminal, report, async () => (await import("./commands/dlq-restore.ts")).dlqRestore));
  bulk(dlq.command("clear"))
    .description(
      "deletes letters that are resolved or discarded, after archiving them; others are never touched",
    )
    .argument("[job]", "id or name (default: the only job with letters)")
    .option("--no-archive", "keep no copy")
    .action(call(terminal, report, async () => (await import("./commands/dlq-clear.ts")).dlqClear));
  bulk(dlq.command("purge"))
    .description("deletes old letters, after archiving them")
    .argument("[job]", "id or name (default: the only job with letters)")
    .option("--no-archive", "keep no copy")
    .action(call(terminal, report, async () => (await import("./commands/dlq-purge.ts")).dlqPurge));
  dlq
    .command("maintain")
    .description("enforces the limits now: archives what is too old or too many")
    .argument("[job]", "id or name (default: all jobs)")
    .option(
      "--max-items <n>",
      "how many letters a job keeps, or none for no limit (default: as in redrive.yml, else 10000)",
    )
    .option(
      "--retention-days <n>",
      "how long a letter is kept, or none; 0 is all of them (default: as in redrive.yml, else 30)",
    )
    .option("--dry-run", "only say what would be done")
    .action(call(terminal, report, async () => (await import("./commands/dlq-maintain.ts")).dlqMaintain));
}

function addExchange(dlq: Command, terminal: Terminal, report: Report): void {
  selection(dlq.command("export"))
    .description("writes letters to a file or folder; .gz and .zst are compressed")
    .argument("<path>", "a file, a folder for the directory format, or - for stdout")
    .addOption(
      new Option("-f, --format <format>", "default: by the name, else json").choices([
        "json",
        "jsonl",
        "csv",
        "error-body",
        "receipts",
        "directory",
      ]),
    )
    .action(call(terminal, report, async () => (await import("./commands/dlq-export.ts")).dlqExport));
  ofJob(dlq.command("import"), "put them into this job (default: the job that each letter names)")
    .description("takes letters in from an export, a folder of Prodigy or mmm, or a receipts.json")
    .argument("<path>", "the file or folder")
    .addOption(
      new Option("-f, --format <format>", "default: by what is there").choices([
        "json",
        "jsonl",
        "csv",
        "error-body",
        "directory",
        "receipts",
      ]),
    )
    .option("--dry-run", "only say what would be done")
    .action(call(terminal, report, async () => (await import("./commands/dlq-import.ts")).dlqImport));
  dlq
    .command("mirror")
    .description("writes the folder of letters anew: items, index, patterns, metrics")
    .argument("[job]", "id or name (default: all jobs)")
    .option("--dlq-dir <folder>", "where, e.g. .mmm/mapreduce/dlq (default: dlq in the home)")
    .action(call(terminal, report, async () => (await import("./commands/dlq-mirror.ts")).dlqMirror));
  ofJob(dlq.command("capsule"), "the job it belongs to")
    .description("writes one file with all that is needed to look at a failure elsewhere, or opens one")
    .argument("<item>", "id, or the beginning of one; or the word open")
    .argument("[file]", "the capsule to open")
    .option("-o, --output <file>", "where to write it (default: ITEM.capsule.json.gz here)")
    .addOption(list("--env <names>", "variables of the environment that go in too"))
    .action(call(terminal, report, async () => (await import("./commands/dlq-capsule.ts")).dlqCapsule));
}
