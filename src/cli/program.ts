/** The program: every command by its name, and what runs a command line. The code of a command is loaded when it is called. */
import { Command as Parser } from "commander";
import { WorkError } from "../errors.ts";
import { nearest } from "../std/nearest.ts";
import { addCommand, argument, type Command, command, type Program } from "./command.ts";
import type { Terminal } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { reportError } from "./report-error.ts";

/** Commands that are loaded together. */
interface Part {
  /** Their names and aliases. */
  readonly names: readonly string[];
  /** What the help of the program shows of each, so that it loads none of them. Only for commands without a family. */
  readonly summaries?: readonly string[];
  readonly load: () => Promise<{ readonly commands: readonly Command[] }>;
}

/** Commands below one word. */
interface Family {
  readonly name: string;
  readonly summary: string;
  readonly parts: readonly Part[];
}

/** In the order of the help. */
const INDEX: readonly (Part | Family)[] = [
  {
    names: ["map", "resume", "demo"],
    summaries: [
      "Run a command once for each item, in parallel.",
      "Resume a job: finish pending items and retry eligible letters.",
      "Run a small map over real files, some of which fail, to try Redrive out.",
    ],
    load: () => import("./commands/map.ts"),
  },
  {
    names: ["run", "validate", "init"],
    summaries: [
      "Run a workflow: setup, an agent for each item, reduce, merge.",
      "Check a workflow and print every problem with its line.",
      "Write a commented workflow that runs as it is.",
    ],
    load: () => import("./commands/workflow.ts"),
  },
  {
    name: "jobs",
    summary: "Manage jobs: runs of maps and workflows.",
    parts: [{ names: ["list", "dismiss", "delete"], load: () => import("./commands/jobs.ts") }],
  },
  {
    names: ["status", "events"],
    summaries: ["Show the status of a job.", "Print what happened, oldest first."],
    load: () => import("./commands/status.ts"),
  },
  {
    names: ["logs"],
    summaries: ["Print the output of an item's attempt or of a workflow's phase, also while it runs."],
    load: () => import("./commands/logs.ts"),
  },
  {
    names: ["errors"],
    summaries: [
      "Print the error log: every failure of every queue, and the runner's own errors, newest first.",
    ],
    load: () => import("./commands/errors.ts"),
  },
  {
    name: "dlq",
    summary: "Manage the dead letter queue: inspect, fix and retry what failed.",
    parts: [
      { names: ["list", "inspect", "show"], load: () => import("./commands/dlq-list.ts") },
      { names: ["analyze", "analyse", "stats"], load: () => import("./commands/dlq-analyze.ts") },
      { names: ["retry", "reprocess", "redrive"], load: () => import("./commands/dlq-retry.ts") },
      { names: ["edit", "fix", "note"], load: () => import("./commands/dlq-edit.ts") },
      {
        names: ["discard", "restore", "clear", "purge", "maintain"],
        load: () => import("./commands/dlq-change.ts"),
      },
      {
        names: ["export", "import", "mirror", "capsule", "evidence"],
        load: () => import("./commands/dlq-files.ts"),
      },
    ],
  },
  {
    name: "groups",
    summary: "Manage groups of letters: the same failure is one group.",
    parts: [
      { names: ["list", "show", "explain", "preview"], load: () => import("./commands/groups.ts") },
      {
        names: ["merge", "split", "corrections", "rebuild", "resolve", "ignore", "open", "note"],
        load: () => import("./commands/groups-change.ts"),
      },
    ],
  },
  {
    name: "ops",
    summary: "Manage operations on many letters: retries, edits, discards, purges.",
    parts: [
      {
        names: ["list", "show", "pause", "resume", "cancel", "undo"],
        load: () => import("./commands/ops.ts"),
      },
    ],
  },
  {
    names: ["metrics", "watch"],
    summaries: [
      "Print the numbers of all queues in the Prometheus format, or serve them over HTTP.",
      "Check the queues by a schedule and when letters arrive, and send alerts.",
    ],
    load: () => import("./commands/watch.ts"),
  },
  {
    names: ["worker"],
    summaries: ["Process queues with a command until a signal comes; several workers may share a queue."],
    load: () => import("./commands/worker.ts"),
  },
  {
    name: "queue",
    summary: "Manage named queues of work for workers.",
    parts: [
      {
        names: ["create", "set", "list", "show", "pause", "resume"],
        load: () => import("./commands/queue.ts"),
      },
      {
        names: ["items", "add", "import", "hold", "unhold", "release"],
        load: () => import("./commands/queue-items.ts"),
      },
    ],
  },
  {
    name: "receipts",
    summary: "Deliver receipts to other services, through outages.",
    parts: [
      {
        names: ["target", "list", "inspect", "pause", "resume"],
        load: () => import("./commands/receipts.ts"),
      },
      { names: ["send", "deliver", "recover"], load: () => import("./commands/receipts-send.ts") },
    ],
  },
  {
    name: "worktrees",
    summary: "Manage the git worktrees of workflows.",
    parts: [{ names: ["list", "clean"], load: () => import("./commands/worktrees.ts") }],
  },
  {
    name: "store",
    summary: "Check, copy, migrate and salvage the store.",
    parts: [
      {
        names: ["info", "check", "copy", "salvage", "migrate"],
        load: () => import("./commands/store.ts"),
      },
    ],
  },
  {
    names: ["trust"],
    summaries: ["Allow the redrive.yml of this folder, as it is now, to run commands by itself."],
    load: () => import("./commands/trust.ts"),
  },
  {
    names: ["completion"],
    summaries: ["Print a script that completes commands, options, jobs, queues and items in a shell."],
    load: () => import("./commands/completion.ts"),
  },
  { names: ["complete-words"], load: async () => ({ commands: [completeWords] }) },
];

/** The scripts of `redrive completion` call it. It is defined here because it needs the other commands. */
const completeWords = command({
  name: "complete-words",
  summary: "",
  examples: [],
  isHidden: true,
  arguments: { words: argument("[words...]", "the words so far") },
  run: async (context, { words }) => {
    const { printCandidates } = await import("./commands/completion.ts");
    const [first = "", second = ""] = words.slice(0, -1);
    const parser = await buildParser([first, second], {
      terminal: context.terminal,
      words,
      report: () => undefined,
    });
    return printCandidates(context, parser, words);
  },
});

/** Runs one command line and answers with the exit code. */
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

/** `help dlq retry` is `dlq retry --help`. */
function helpLast(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  return first === "help" && rest.length > 0 ? [...rest, "--help"] : argv;
}

/** What comes after `--` belongs to the user's command. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
}

/** Loads no more commands than the words can mean: loading all of them takes longer than many a command. */
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
      outputError: () => undefined, // `reportError` prints it, as text or as JSON
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

/** For the help of the program and for suggestions. */
function addNames(parser: Parser): void {
  for (const one of INDEX) {
    if ("name" in one) parser.command(one.name).description(one.summary);
    else {
      for (const [at, summary] of (one.summaries ?? []).entries()) {
        parser.command(one.names[at] ?? "").description(summary);
      }
    }
  }
}

/** The part with the named command; all parts when there is none. */
function partsFor({ parts }: Family, name: string): readonly Part[] {
  const meant = parts.filter(({ names }) => names.includes(name));
  return meant.length > 0 ? meant : parts;
}

async function addPart(parser: Parser, { load }: Part, program: Program): Promise<void> {
  for (const one of (await load()).commands) addCommand(parser, one, program);
}

/** Every command with the words that call it. */
export async function everyCommand(): Promise<
  readonly { readonly words: string; readonly command: Command }[]
> {
  const found = [];
  for (const one of INDEX) {
    for (const part of "name" in one ? one.parts : [one]) {
      for (const own of (await part.load()).commands) {
        found.push({ words: "name" in one ? `${one.name} ${own.name}` : own.name, command: own });
      }
    }
  }
  return found;
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

/** An unknown word would become an argument of the family's default command, or be ignored by the help. */
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

/** The default command, if there is one, is `list`. */
function takesWord(parser: Parser): boolean {
  return parser.commands.some((one) => one.name() === "list" && one.registeredArguments.length > 0);
}

function unknownCommand(parser: Parser, word: string): WorkError {
  const names = parser.commands.flatMap((one) => [one.name(), ...one.aliases()]);
  const path = parser.parent === null ? "redrive" : `redrive ${parser.name()}`;
  const meant = nearest(word, names);
  return new WorkError("usage", `Unknown command "${word}" of ${path}.`, {
    hint: meant === undefined ? `List all commands: ${path} --help` : `Did you mean \`${path} ${meant}\`?`,
  });
}
