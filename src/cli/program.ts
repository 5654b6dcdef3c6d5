/** The index of all commands, and the function that runs a command line. Commands are loaded on demand. */
import { Command as Parser } from "commander";
import type { RedriveError } from "../errors.ts";
import { nearest } from "../std/nearest.ts";
import { addCommand, argument, type Command, type Commands, command, type Program } from "./command.ts";
import type { Terminal } from "./context.ts";
import { EXIT, reportError, userError } from "./exit-code.ts";
import { fromProdigy } from "./prodigy-words.ts";

type Load = () => Promise<{ readonly commands: Commands }>;

/** Commands without a family. Their summaries are repeated here, so that the program's help need not load them. */
interface Single {
  readonly summaries: Readonly<Record<string, string>>;
  readonly load: Load;
}

/**
 * Commands of one family, such as `redrive dlq …`, in one module or in several, by the names and aliases of
 * their commands.
 */
interface Family {
  readonly family: string;
  readonly summary: string;
  readonly load: Load | Readonly<Record<string, Load>>;
}

function single(load: Load, summaries: Single["summaries"]): Single {
  return { summaries, load };
}

function family(name: string, summary: string, load: Family["load"]): Family {
  return { family: name, summary, load };
}

/** All commands by the headings and in the order of the help. */
const SECTIONS: Readonly<Record<string, readonly (Single | Family)[]>> = {
  "Run work": [
    single(() => import("./commands/map.ts"), {
      map: "Run a command once for each item, in parallel.",
      resume: "Resume a job: finish pending items and retry eligible letters.",
      demo: "Run a small map over real files, some of which fail, to try Redrive out.",
    }),
    single(() => import("./commands/workflow.ts"), {
      run: "Run a workflow: setup, an agent for each item, reduce, merge.",
      validate: "Check a workflow and print every problem with its line.",
      init: "Write a commented example workflow that runs without changes.",
      "migrate-workflow": "Convert a Prodigy workflow, with comments where its behavior differs.",
    }),
  ],
  "Follow work": [
    single(() => import("./commands/overview.ts"), {
      overview: "Show what needs attention: dead letters, the largest groups, queues, running jobs.",
    }),
    family("jobs", "Manage jobs: runs of maps and workflows.", () => import("./commands/jobs.ts")),
    single(() => import("./commands/status.ts"), {
      status: "Show the status of a job.",
      events: "Print events, oldest first.",
    }),
    single(() => import("./commands/report.ts"), {
      report: "Report what a job has done: items, changes, failures by cause, cost.",
    }),
    single(() => import("./commands/control.ts"), {
      items: "List all items of a job with state, attempts and cost, oldest first.",
      stop: "Stop a running job, or one item of it, from any terminal or machine.",
      pause: "Pause a job: nothing more is started, running items finish.",
      continue: "Continue a paused job, or let a stopped item run again.",
      skip: "Skip an item: its running attempt is ended, and it does not run again.",
      cancel: "Cancel a job: stop it and dismiss it, so that `redrive resume` without a job ignores it.",
    }),
    single(() => import("./commands/attach.ts"), {
      attach: "Open a shell in the worktree of an item, with the environment of its steps.",
    }),
    single(() => import("./commands/logs.ts"), {
      logs: "Print the output of an item's attempt or of a workflow phase, even while it runs.",
    }),
    single(() => import("./commands/errors.ts"), {
      errors: "Print the error log: every failure of every queue, and the runner's own errors, newest first.",
    }),
    single(() => import("./commands/watch.ts"), {
      metrics: "Print metrics of all queues in the Prometheus format, or serve them over HTTP.",
      watch: "Check the queues on a schedule and when letters arrive, and send alerts.",
    }),
  ],
  "Fix what failed": [
    family("dlq", "Manage the dead letter queue: inspect, fix and retry what failed.", {
      "list inspect show": () => import("./commands/dlq-list.ts"),
      "analyze analyse stats": () => import("./commands/dlq-analyze.ts"),
      "retry reprocess redrive": () => import("./commands/dlq-retry.ts"),
      "edit fix note": () => import("./commands/dlq-edit.ts"),
      "discard restore clear purge maintain": () => import("./commands/dlq-change.ts"),
      "export import mirror capsule evidence": () => import("./commands/dlq-files.ts"),
    }),
    family("groups", "Manage groups: letters with the same failure form a group.", {
      "list show explain preview": () => import("./commands/groups.ts"),
      suggest: () => import("./commands/groups-suggest.ts"),
      "merge split corrections rebuild resolve ignore open note": () => import("./commands/groups-change.ts"),
    }),
    family(
      "ops",
      "Manage operations on many letters: retries, edits, discards, purges.",
      () => import("./commands/ops.ts"),
    ),
  ],
  "Queues, schedules and receipts": [
    family("queue", "Manage named queues that workers process.", () => import("./commands/queue.ts")),
    single(() => import("./commands/worker.ts"), {
      worker: "Run a worker that processes queue items with a command.",
    }),
    family(
      "schedule",
      "Manage cron schedules, which add items to queues.",
      () => import("./commands/schedule.ts"),
    ),
    family("receipts", "Deliver receipts to other services, even through outages.", {
      "target list inspect pause resume": () => import("./commands/receipts.ts"),
      "send deliver recover": () => import("./commands/receipts-send.ts"),
    }),
  ],
  "Web console, API and AI agents": [
    single(() => import("./commands/console.ts"), {
      console: "Open the web console: what failed, why, and how to fix it.",
    }),
    single(() => import("./commands/serve.ts"), {
      serve: "Serve the console, the API, metrics and health checks over HTTP.",
    }),
    single(() => import("./commands/mcp.ts"), {
      mcp: "Serve the store to an AI agent over stdio (Model Context Protocol).",
    }),
    family("token", "Manage the tokens of the HTTP API.", () => import("./commands/token.ts")),
    single(() => import("./commands/audit.ts"), {
      audit: "List who changed what and through which interface, newest first.",
    }),
  ],
  "Store and set-up": [
    family("store", "Check, copy, migrate and salvage the store.", () => import("./commands/store.ts")),
    family("worktrees", "Manage the git worktrees of workflows.", () => import("./commands/worktrees.ts")),
    single(() => import("./commands/trust.ts"), {
      trust: "Allow the redrive.yml of this folder to run commands automatically.",
    }),
    single(() => import("./commands/completion.ts"), {
      completion: "Print a script that completes commands, options, jobs, queues and items in a shell.",
    }),
    single(async () => ({ commands: { "complete-words": completeWords } }), { "complete-words": "" }),
  ],
};

const INDEX = Object.values(SECTIONS).flat();

/** The hidden command that completion scripts call. It is defined here because it needs all other commands. */
const completeWords = command({
  summary: "",
  examples: [],
  isHidden: true,
  arguments: { words: argument("[words...]", "the words so far") },
  run: async (context, { words }) => {
    const { printCandidates } = await import("./commands/completion.ts");
    const [first = "", second = ""] = words.slice(0, -1);
    const program = { terminal: context.terminal, words, report: () => undefined };
    const parser = await buildParser([first, second], program);
    return printCandidates(context, parser, words);
  },
});

export async function runCli(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.done;
  const words = fromProdigy(helpLast(argv));
  let parser: Parser | undefined;
  const report = (result: number) => {
    code = result;
  };
  try {
    parser = await buildParser(words, { terminal, words, report });
    requireKnownWords(parser, words);
    await parser.parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    const isJson = wantsJson(argv);
    return reportError(error, terminal, { isJson, ...(parser && { usage: usageOf(parser, words) }) });
  }
}

/** Rewrites `help dlq retry` to `dlq retry --help`. */
function helpLast(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  return first === "help" && rest.length > 0 ? [...rest, "--help"] : argv;
}

/** Ignores words after `--`, which are the user's command. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
}

/** Loads only the commands that the words may refer to, because loading all is slow. */
export async function buildParser(words: readonly string[], program: Program): Promise<Parser> {
  const { terminal } = program;
  const parser = new Parser("redrive")
    .description("Run work over many items in parallel, and never lose the ones that fail.")
    .version(terminal.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand(...HELP)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      outputError: () => undefined, // `reportError` prints errors, as text or JSON
    })
    .showSuggestionAfterError()
    .addHelpText("after", EXAMPLES);
  const [first = "", second = ""] = words;
  const meant = INDEX.find((one) =>
    "family" in one ? one.family === first : Object.hasOwn(one.summaries, first),
  );
  if (meant === undefined) addNames(parser);
  else {
    const parent = "family" in meant ? parser.command(meant.family).description(meant.summary) : parser;
    for (const one of await commandsOf(meant, second)) addCommand(parent, one, program);
  }
  return parser;
}

/** Adds names and summaries without loading commands, for the program's help and for suggestions. */
function addNames(parser: Parser): void {
  for (const [heading, entries] of Object.entries(SECTIONS)) {
    parser.commandsGroup(`${heading}:`);
    for (const one of entries) {
      const summaries = "family" in one ? { [one.family]: one.summary } : one.summaries;
      for (const [name, summary] of Object.entries(summaries))
        if (summary !== "") parser.command(name).description(summary);
    }
  }
  parser.helpCommand(...HELP); // added again, so that it is below the last heading
}

/** Loads the commands of an entry; of a family with several modules, only the module that has the named command. */
async function commandsOf({ load }: Single | Family, name?: string): Promise<readonly Command[]> {
  const modules = typeof load === "function" ? { "": load } : load;
  const meant = Object.keys(modules).filter((names) => names.split(" ").includes(name ?? ""));
  const loads = Object.entries(modules).flatMap(([names, one]) =>
    meant.length === 0 || meant.includes(names) ? [one()] : [],
  );
  return (await Promise.all(loads)).flatMap(({ commands }) =>
    Object.entries(commands).map(([own, one]) => ({ name: own, ...one })),
  );
}

export async function everyCommand(): Promise<readonly { words: string; command: Command }[]> {
  const found = INDEX.map(async (one) => {
    const before = "family" in one ? `${one.family} ` : "";
    return (await commandsOf(one)).map((command) => ({ words: `${before}${command.name}`, command }));
  });
  return (await Promise.all(found)).flat();
}

const HELP = ["help [command]", "show the help of a command"] as const;

const EXAMPLES = `
Examples:
  redrive demo                                            # try it out, in a few seconds
  find . -name '*.md' | redrive map -- wc -w {}           # run one command for each line
  redrive map --input files.json -j 8 --retries 3 -- ./convert.sh '\${item.path}'
  redrive dlq list                                        # list what failed
  redrive groups                                          # group it by failure
  redrive dlq retry JOB                                   # retry it
  redrive resume                                          # resume after Ctrl-C or a crash

Exit codes: 0 done · 1 job failed or stopped · 2 usage or input error · 3 done, but letters were left · 4 not found
            5 refused · 75 store or target unavailable, try again · 130, 143 interrupted (\`redrive resume\` continues)`;

/**
 * Throws for an unknown command. A family's default command would treat it as an argument, and the help would
 * ignore it.
 */
function requireKnownWords(program: Parser, words: readonly string[]): void {
  let parser = program;
  for (const word of words) {
    if (word.startsWith("-") || word === "help" || parser.commands.length === 0) return;
    const below = parser.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (below === undefined) throw unknownCommand(parser, word);
    parser = below;
  }
}

/** The usage line of the command that the words name, e.g. `redrive queue show [options] <queue> [item]`. */
function usageOf(program: Parser, words: readonly string[]): string {
  let meant = program;
  for (const word of words) {
    const below = meant.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (below === undefined) break;
    meant = below;
  }
  return program
    .createHelp()
    .commandUsage(meant)
    .replace(/\|[\w-]+/, ""); // without an alias
}

function unknownCommand(parser: Parser, word: string): RedriveError {
  const names = parser.commands.flatMap((one) => [one.name(), ...one.aliases()]);
  const path = parser.parent === null ? "redrive" : `redrive ${parser.name()}`;
  const meant = nearest(word, names);
  const hint =
    meant === undefined ? `List all commands: ${path} --help` : `Did you mean \`${path} ${meant}\`?`;
  return userError("usage", `Unknown command "${word}" for ${path}.`, hint);
}
