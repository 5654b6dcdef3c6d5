/** The index of all commands, and the function that runs a command line. Commands are loaded on demand. */
import { Command as Parser } from "commander";
import { RedriveError } from "../errors.ts";
import { nearest } from "../std/nearest.ts";
import { addCommand, argument, type Command, type Commands, command, type Program } from "./command.ts";
import type { Terminal } from "./context.ts";
import { EXIT, reportError } from "./exit-code.ts";

/** Commands that are loaded together from one module. */
interface Part {
  /** The names and aliases of the commands. */
  readonly names: readonly string[];
  readonly load: () => Promise<{ readonly commands: Commands }>;
  /** Summaries of commands without a family, so that the program's help need not load any command. */
  readonly summaries?: Readonly<Record<string, string>>;
}

/** Commands of one family, such as `redrive dlq …`. */
interface Family {
  readonly name: string;
  readonly summary: string;
  readonly parts: readonly Part[];
}

function alone(load: Part["load"], summaries: NonNullable<Part["summaries"]>): Part {
  return { names: Object.keys(summaries), load, summaries };
}

function family(name: string, summary: string, parts: readonly Part[]): Family {
  return { name, summary, parts };
}

function part(names: string, load: Part["load"]): Part {
  return { names: names.split(" "), load };
}

/** All commands in the order of the help. */
const INDEX: readonly (Part | Family)[] = [
  alone(() => import("./commands/map.ts"), {
    map: "Run a command once for each item, in parallel.",
    resume: "Resume a job: finish pending items and retry eligible letters.",
    demo: "Run a small map over real files, some of which fail, to try Redrive out.",
  }),
  alone(() => import("./commands/workflow.ts"), {
    run: "Run a workflow: setup, an agent for each item, reduce, merge.",
    validate: "Check a workflow and print every problem with its line.",
    init: "Write a commented workflow that runs as it is.",
  }),
  family("jobs", "Manage jobs: runs of maps and workflows.", [
    part("list dismiss delete", () => import("./commands/jobs.ts")),
  ]),
  alone(() => import("./commands/status.ts"), {
    status: "Show the status of a job.",
    events: "Print what happened, oldest first.",
  }),
  alone(() => import("./commands/logs.ts"), {
    logs: "Print the output of an item's attempt or of a workflow's phase, also while it runs.",
  }),
  alone(() => import("./commands/errors.ts"), {
    errors: "Print the error log: every failure of every queue, and the runner's own errors, newest first.",
  }),
  family("dlq", "Manage the dead letter queue: inspect, fix and retry what failed.", [
    part("list inspect show", () => import("./commands/dlq-list.ts")),
    part("analyze analyse stats", () => import("./commands/dlq-analyze.ts")),
    part("retry reprocess redrive", () => import("./commands/dlq-retry.ts")),
    part("edit fix note", () => import("./commands/dlq-edit.ts")),
    part("discard restore clear purge maintain", () => import("./commands/dlq-change.ts")),
    part("export import mirror capsule evidence", () => import("./commands/dlq-files.ts")),
  ]),
  family("groups", "Manage groups of letters: the same failure is one group.", [
    part("list show explain preview", () => import("./commands/groups.ts")),
    part(
      "merge split corrections rebuild resolve ignore open note",
      () => import("./commands/groups-change.ts"),
    ),
  ]),
  family("ops", "Manage operations on many letters: retries, edits, discards, purges.", [
    part("list show pause resume cancel undo", () => import("./commands/ops.ts")),
  ]),
  alone(() => import("./commands/watch.ts"), {
    metrics: "Print the numbers of all queues in the Prometheus format, or serve them over HTTP.",
    watch: "Check the queues by a schedule and when letters arrive, and send alerts.",
  }),
  alone(() => import("./commands/worker.ts"), {
    worker: "Process queues with a command until a signal comes; several workers may share a queue.",
  }),
  family("queue", "Manage named queues of work for workers.", [
    part("create set list show pause resume", () => import("./commands/queue.ts")),
    part("items add import hold unhold release", () => import("./commands/queue-items.ts")),
  ]),
  family("receipts", "Deliver receipts to other services, through outages.", [
    part("target list inspect pause resume", () => import("./commands/receipts.ts")),
    part("send deliver recover", () => import("./commands/receipts-send.ts")),
  ]),
  family("worktrees", "Manage the git worktrees of workflows.", [
    part("list clean", () => import("./commands/worktrees.ts")),
  ]),
  family("store", "Check, copy, migrate and salvage the store.", [
    part("info check copy salvage migrate", () => import("./commands/store.ts")),
  ]),
  alone(() => import("./commands/serve.ts"), {
    serve: "Serve the API, the metrics and the health of the store over HTTP.",
  }),
  family("token", "Manage the tokens of the HTTP API.", [
    part("create list revoke", () => import("./commands/token.ts")),
  ]),
  alone(() => import("./commands/trust.ts"), {
    trust: "Allow the redrive.yml of this folder, as it is now, to run commands by itself.",
  }),
  alone(() => import("./commands/completion.ts"), {
    completion: "Print a script that completes commands, options, jobs, queues and items in a shell.",
  }),
  part("complete-words", async () => ({ commands: { "complete-words": completeWords } })),
];

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

/** Runs one command line and returns the exit code. */
export async function runCli(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.done;
  const words = helpLast(argv);
  const report = (result: number) => {
    code = result;
  };
  try {
    const parser = await buildParser(words, { terminal, words, report });
    requireKnownWords(parser, words);
    await parser.parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    return reportError(error, terminal, wantsJson(argv));
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
    .version(terminal.version)
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
  const meant = INDEX.filter((one) => ("name" in one ? one.name === first : one.names.includes(first)));
  if (meant.length === 0) addNames(parser);
  for (const one of meant) {
    if (!("name" in one)) await addPart(parser, one, program);
    else {
      const family = parser.command(one.name).description(one.summary);
      for (const part of partsFor(one, second)) await addPart(family, part, program);
    }
  }
  return parser;
}

/** Adds names and summaries without loading commands, for the program's help and for suggestions. */
function addNames(parser: Parser): void {
  for (const one of INDEX) {
    const summaries = "name" in one ? { [one.name]: one.summary } : (one.summaries ?? {});
    for (const [name, summary] of Object.entries(summaries)) parser.command(name).description(summary);
  }
}

function partsFor({ parts }: Family, name: string): readonly Part[] {
  const meant = parts.filter(({ names }) => names.includes(name));
  return meant.length > 0 ? meant : parts;
}

async function addPart(parser: Parser, part: Part, program: Program): Promise<void> {
  for (const one of await commandsOf(part)) addCommand(parser, one, program);
}

async function commandsOf({ load }: Part): Promise<readonly Command[]> {
  return Object.entries((await load()).commands).map(([name, one]) => ({ name, ...one }));
}

export async function everyCommand(): Promise<readonly { words: string; command: Command }[]> {
  const found = INDEX.flatMap((one) =>
    ("name" in one ? one.parts : [one]).map(async (own) => {
      const before = "name" in one ? `${one.name} ` : "";
      return (await commandsOf(own)).map((command) => ({ words: `${before}${command.name}`, command }));
    }),
  );
  return (await Promise.all(found)).flat();
}

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

/** Throws for an unknown command, which a family's default command would take as an argument and the help would ignore. */
function requireKnownWords(program: Parser, words: readonly string[]): void {
  let parser = program;
  for (const word of words) {
    if (word.startsWith("-") || word === "help" || parser.commands.length === 0) return;
    const below = parser.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (below === undefined) {
      if (!takesWord(parser)) throw unknownCommand(parser, word);
      return;
    }
    parser = below;
  }
}

/** Whether the default command `list` of the family takes arguments. */
function takesWord(parser: Parser): boolean {
  return parser.commands.some((one) => one.name() === "list" && one.registeredArguments.length > 0);
}

function unknownCommand(parser: Parser, word: string): RedriveError {
  const names = parser.commands.flatMap((one) => [one.name(), ...one.aliases()]);
  const path = parser.parent === null ? "redrive" : `redrive ${parser.name()}`;
  const meant = nearest(word, names);
  return new RedriveError("usage", `Unknown command "${word}" of ${path}.`, {
    hint: meant === undefined ? `List all commands: ${path} --help` : `Did you mean \`${path} ${meant}\`?`,
  });
}
