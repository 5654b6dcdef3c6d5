/** Every command with its options and help. What a command does is loaded when it is called. */
import { Argument, Command, Option } from "commander";
import { INPUT_FORMATS } from "../intake/format.ts";
import { MERGE_MODES } from "../job/workflow-spec.ts";
import { ITEM_FAILURE_ACTIONS } from "../retry/policy.ts";
import { SHELLS } from "./completion-scripts.ts";
import type { Context, Terminal } from "./context.ts";
import {
  allowOptions,
  call,
  keepEvidence,
  list,
  maxOutage,
  onFailureCommand,
  onOutage,
  type Report,
  storeWait,
} from "./definition.ts";
import { addErrors } from "./error-commands.ts";
import { EXIT } from "./exit-code.ts";
import { addGroups } from "./group-commands.ts";
import { addJobs } from "./job-commands.ts";
import { helpLast, requireKnownWords } from "./known-words.ts";
import { addLetters } from "./letter-commands.ts";
import { addOperations } from "./operation-commands.ts";
import { addQueues } from "./queue-commands.ts";
import { addReceipts } from "./receipt-commands.ts";
import { reportError } from "./report-error.ts";
import { addWatching } from "./watch-commands.ts";
import { addWorker } from "./worker-commands.ts";

/** Runs one command line and answers with the exit code. */
export async function runCli(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.done;
  const words = helpLast(argv);
  const program = buildProgram(words[0], terminal, (result) => {
    code = result;
  });
  try {
    requireKnownWords(program, words);
    await program.parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    return reportError(error, terminal, wantsJson(argv));
  }
}

/** To make every command takes longer than many a command, so where the first word is one of them, no other is made. */
function buildProgram(word: string | undefined, terminal: Terminal, report: Report): Command {
  const program = new Command("redrive")
    .description("Runs work over many items in parallel, and never loses the ones that fail.")
    .version(terminal.version)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      outputError: () => undefined, // `explain` says it, in both forms
    })
    .showSuggestionAfterError()
    .addHelpText("after", EXAMPLES);
  const meant = FAMILIES.filter(({ names }) => names.some((name) => name === word));
  for (const { add } of meant.length > 0 ? meant : FAMILIES) add(program, terminal, report);
  for (const command of leavesOf(program)) addShared(command);
  return program;
}

interface Family {
  /** The first words of its commands. */
  readonly names: readonly string[];
  readonly add: (program: Command, terminal: Terminal, report: Report) => void;
}

/** In the order of the help. */
const FAMILIES: readonly Family[] = [
  { names: ["map", "run", "validate", "init", "resume", "demo"], add: addRunning },
  under("jobs", "jobs: runs of maps and workflows", addJobs),
  { names: ["status", "logs", "events"], add: addLooking },
  { names: ["errors"], add: addErrors },
  under("dlq", "the dead letter queue: what failed, and how to run it again", addLetters),
  under("groups", "groups of letters: the same failure is one group", addGroups),
  under("ops", "operations on many letters: retries, edits, discards, purges", addOperations),
  { names: ["metrics", "watch"], add: addWatching },
  { names: ["worker"], add: addWorker },
  under("queue", "named queues of work for workers", addQueues),
  under("receipts", "receipts: delivered through outages, or kept", addReceipts),
  under("worktrees", "the git worktrees of workflows", addWorktrees),
  under("store", "the store: where everything is kept", addStore),
  { names: ["trust"], add: addTrust },
  { names: ["completion", "complete-words"], add: addCompletion },
];

function under(name: string, description: string, add: Family["add"]): Family {
  return {
    names: [name],
    add: (program, terminal, report) => add(program.command(name).description(description), terminal, report),
  };
}

const EXAMPLES = `
Examples:
  redrive demo                                            a first look, in a few seconds
  find . -name '*.md' | redrive map -- wc -w {}           one command for each line
  redrive map --input files.json --jobs 8 --retries 3 -- ./convert.sh '\${item.path}'
  redrive dlq list                                        what failed
  redrive groups                                          of what: the same failure is one group
  redrive dlq retry JOB                                   run it again
  redrive resume                                          go on after Ctrl-C or a crash

Exit codes: 0 done · 1 job failed or stopped · 2 usage or input error · 3 done, but letters were left · 4 not found
            5 refused · 75 store or target unavailable, try again · 130, 143 interrupted (\`redrive resume\` goes on)`;

function addRunning(program: Command, terminal: Terminal, report: Report): void {
  program
    .command("map")
    .description("runs a command once for each item, in parallel")
    .usage("[options] -- COMMAND [ARG…]")
    .argument(
      "<command...>",
      "the command and its arguments; {} is the item, ${item.field} a field, ${item_id} the id, {.} {/} {//} {/.} {#} are as in GNU parallel; no shell is used; its stdin is the item",
    )
    .optionsGroup("Input:")
    .addOption(
      new Option(
        "-i, --input <file>",
        "where the items come from: a JSON array, JSON Lines, CSV or plain lines; - is stdin",
      ).default("-", "-"),
    )
    .addOption(
      new Option("-f, --format <format>", "format of the input (default: by file name or content)").choices(
        INPUT_FORMATS,
      ),
    )
    .option("--id-field <field>", "the field that an item is known by (default: its whole content)")
    .option("--distinct [field]", "drop items that are the same, or the same in this field")
    .optionsGroup("Running:")
    .option("-j, --jobs <n>", "how many run at a time (default: the number of cores)")
    .option(
      "-t, --timeout <duration>",
      "end an attempt that takes longer, with all its processes (default: none)",
    )
    .option("--grace <duration>", "time between the signals TERM and KILL (default: 5s)")
    .option(
      "-n, --name <name>",
      "name of the job; the same name again goes on with it: done items are not repeated",
    )
    .option("--accept-changes", "go on with the job of that name although the command is another one")
    .addOption(allowOptions())
    .addOption(keepEvidence())
    .addOption(storeWait())
    .option("-q, --quiet", "neither progress nor the commands' output, only the summary")
    .optionsGroup("When an item fails:")
    .option("-r, --retries <n>", "how often it is tried again (default: 2)")
    .option(
      "--backoff <spec>",
      "the wait before a retry: exponential:1s:30s, linear:1s:30s, fibonacci:1s:30s, fixed:5s, list:1s,5s or none; :nojitter at the end turns the randomness off (default: exponential:1s:30s)",
    )
    .addOption(
      new Option(
        "--on-failure <action>",
        "when the tries are spent: keep it as a letter, retry without waiting, skip it, stop the job",
      )
        .choices(ITEM_FAILURE_ACTIONS.filter((action) => action !== "custom"))
        .default("dlq", "dlq"),
    )
    .addOption(onFailureCommand())
    .option("--max-failures <n>", "stop when this many items have died")
    .option(
      "--failure-threshold <rate>",
      "stop when more than this share of the finished items has died (0 to 1; from 10 finished on)",
    )
    .option("--fail-fast", "stop at the first item that dies")
    .option(
      "--breaker <n>",
      "pause the queue after this many failures in a row, then try a few items (default: no breaker)",
    )
    .option("--breaker-timeout <duration>", "how long it pauses (default: 30s)")
    .addOption(onOutage())
    .addOption(maxOutage())
    .passThroughOptions()
    .action(call(terminal, report, async () => (await import("./commands/map.ts")).map));
  program
    .command("run")
    .description("runs a workflow: setup, an agent for each item, reduce, merge")
    .argument("<workflow>", "the YAML file")
    .option("--dry-run", "show the items, the first commands and the policy; run nothing")
    .option("--max-parallel <n>", "how many agents at a time (default: as the workflow says)")
    .addOption(list("--var <name=value>", "a variable for the workflow; may be given several times"))
    .addOption(
      new Option(
        "--merge <mode>",
        "at the end, the job's branch is merged into the branch you are on; ask first, or leave it",
      )
        .choices(MERGE_MODES)
        .default("auto", "auto"),
    )
    .addOption(keepEvidence())
    .addOption(storeWait())
    .option("-q, --quiet", "no progress, only the summary")
    .action(call(terminal, report, async () => (await import("./commands/run.ts")).run));
  program
    .command("validate")
    .description("checks a workflow and reports every problem with its line")
    .argument("<workflow>", "the YAML file")
    .addOption(list("--var <name=value>", "a variable that `run` will be given"))
    .action(call(terminal, report, async () => (await import("./commands/validate.ts")).validate));
  program
    .command("init")
    .description("writes a commented workflow that runs as it is")
    .argument("[file]", "where (default: workflow.yml)")
    .option("--force", "overwrite a file that is there")
    .action(call(terminal, report, async () => (await import("./commands/init.ts")).init));
  program
    .command("resume")
    .description("goes on with a job: what was not done, and the letters that are worth another try")
    .argument(
      "[job]",
      "id or name (default: the latest job of this folder, or of its git repository, that has not been completed)",
    )
    .option("--no-dlq", "leave the letters where they are")
    .option("--accept-changes", "go on although the workflow's file has changed, with what it says now")
    .option("-j, --jobs <n>", "how many run at a time (default: as the job)")
    .addOption(storeWait())
    .option("-q, --quiet", "neither progress nor the commands' output, only the summary")
    .action(call(terminal, report, async () => (await import("./commands/resume.ts")).resume));
  program
    .command("demo")
    .description("runs a small real map whose failures land in the dead letter queue")
    .action(call(terminal, report, async () => (await import("./commands/demo.ts")).demo));
}

function addLooking(program: Command, terminal: Terminal, report: Report): void {
  program
    .command("status")
    .description("shows how a job stands")
    .argument("<job>", "id or name")
    .option("-w, --watch", "follow it until it has ended")
    .action(call(terminal, report, async () => (await import("./commands/status.ts")).status));
  program
    .command("logs")
    .description("prints the output of an item's attempt or of a workflow's phase, also while it runs")
    .argument("<job>", "id or name")
    .argument("[item]", "id, or the beginning of one; or setup, reduce or merge (with --follow default: all)")
    .option("-a, --attempt <n>", "which attempt (default: the running one, else the last one with output)")
    .addOption(
      new Option(
        "--follow",
        "print output as it is written, until the item or the job has ended; with --json one object a line",
      ).conflicts("attempt"),
    )
    .option(
      "--raw",
      "print the bytes as they are, also on a terminal, where control characters are made visible",
    )
    .action(call(terminal, report, async () => (await import("./commands/logs.ts")).logs));
  program
    .command("events")
    .description("prints what happened, oldest first")
    .argument("[job]", "id or name (default: all jobs)")
    .option("--follow", "keep printing as things happen; with --json one object a line")
    .addOption(list("--type <types>", "only these, e.g. attempt_failed,dlq_item_added"))
    .option("--since <duration>", "only the latest, e.g. 10m")
    .option("-l, --limit <n>", "how many at most (default: all)")
    .action(call(terminal, report, async () => (await import("./commands/events.ts")).events));
}

function addWorktrees(worktrees: Command, terminal: Terminal, report: Report): void {
  worktrees
    .command("list")
    .description("lists worktrees: of which job and item; free, in use, idle, or kept for a letter")
    .option("--job <job>", "of this job")
    .action(call(terminal, report, async () => (await import("./commands/worktrees.ts")).worktreesList));
  worktrees
    .command("clean")
    .description("removes worktrees that nobody needs; what holds unmerged work is left and named")
    .option("--job <job>", "of this job")
    .option("--force", "also those with unmerged or uncommitted work")
    .option("--dry-run", "only say what would be done")
    .option("-y, --yes", "do not ask")
    .action(call(terminal, report, async () => (await import("./commands/worktrees.ts")).worktreesClean));
}

function addStore(store: Command, terminal: Terminal, report: Report): void {
  store
    .command("info")
    .description("where it is, how large, what is in it")
    .action(call(terminal, report, async () => (await import("./commands/store-info.ts")).storeInfo));
  store
    .command("check")
    .description("verifies the file and every rule that the store must keep")
    .action(call(terminal, report, async () => (await import("./commands/store-check.ts")).storeCheck));
  store
    .command("copy")
    .description("copies a whole store into another, empty one, and proves that both are equal")
    .argument("<from>", "the store that is copied, e.g. sqlite:./work.db; nobody may work with it meanwhile")
    .argument("<to>", "the store that takes the copy, e.g. postgres://user@host/db?schema=redrive")
    .action(call(terminal, report, async () => (await import("./commands/store-copy.ts")).storeCopy));
  store
    .command("salvage")
    .description("saves what can be read of a damaged SQLite store into a new file, and lists what was lost")
    .argument("<from>", "the damaged store, e.g. sqlite:./work.db; it is not changed")
    .argument("<to>", "the new store, e.g. sqlite:./saved.db")
    .action(call(terminal, report, async () => (await import("./commands/store-salvage.ts")).storeSalvage));
  store
    .command("migrate")
    .description("brings the store to the newest version, and says from which")
    .action(call(terminal, report, async () => (await import("./commands/store-migrate.ts")).storeMigrate));
}

function addTrust(program: Command, terminal: Terminal, report: Report): void {
  program
    .command("trust")
    .description("allows the redrive.yml of this folder, as it is now, to run commands by itself")
    .action(call(terminal, report, async () => (await import("./commands/trust.ts")).trust));
}

function addCompletion(program: Command, terminal: Terminal, report: Report): void {
  program
    .command("completion")
    .description("prints a script that completes commands, options, jobs, queues and items in a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .action(call(terminal, report, async () => (await import("./commands/completion.ts")).completion));
  program
    .command("complete-words", { hidden: true })
    .argument("[words...]", "the words so far")
    .allowUnknownOption()
    .action(
      call(terminal, report, async () => {
        const { completeWords } = await import("./commands/completion.ts");
        const whole = buildProgram(undefined, terminal, () => undefined);
        return (context: Context, words: string[]) => completeWords(context, words, whole);
      }),
    );
}

function* leavesOf(command: Command): Generator<Command> {
  if (command.commands.length === 0) yield command;
  for (const below of command.commands) yield* leavesOf(below);
}

/** Added last, so that a command's own options come first in its help. */
function addShared(command: Command): void {
  command
    .optionsGroup("Everywhere:")
    .option("--json", "one JSON document on stdout, nothing else there")
    .option(
      "--store <url>",
      "the store, e.g. sqlite:./work.db or postgres://me@host/work (default: $REDRIVE_STORE, else redrive.db in $REDRIVE_HOME or ~/.redrive)",
    )
    .option(
      "--config <file>",
      "settings (default: $REDRIVE_CONFIG, else redrive.yml here, above, or in the home)",
    )
    .helpOption("-h, --help", "show this help");
}

/** What comes after `--` belongs to the user's command. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
}
