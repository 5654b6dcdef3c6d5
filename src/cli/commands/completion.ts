/** `redrive completion`: prints shell completion scripts and the candidates for a command line. Only reads the store. */
import type { Option, Command as Parser } from "commander";
import type { Engine } from "../../engine.ts";
import { openStore } from "../../engines/open.ts";
import { ENDING_KINDS, type JobKind } from "../../item/job.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/**
 * Each script runs the program being completed, so that aliases and paths work. If there are no candidates,
 * it completes file names.
 */
const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Bash completion for redrive. Add to ~/.bashrc:  source <(redrive completion bash)
_redrive() {
  local line word
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v word '%q' "\${line%%$'\\t'*}"
    COMPREPLY+=("$word")
  done < <("\${COMP_WORDS[0]}" complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _redrive redrive
`,
  zsh: `#compdef redrive
# Zsh completion for redrive. Add to ~/.zshrc, after compinit:  source <(redrive completion zsh)
_redrive() {
  local line word
  local -a found
  for line in "\${(@f)$("\${words[1]}" complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] || continue
    word="\${line%%$'\\t'*}"
    found+=("\${word//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then
    _describe -t redrive 'redrive' found
  else
    _files
  fi
}
compdef _redrive redrive
`,
  fish: `# Fish completion for redrive. Save it as ~/.config/fish/completions/redrive.fish
function __redrive_complete
    set -l words (commandline -opc)
    $words[1] complete-words -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c redrive -n 'test -n "$(__redrive_complete)"' -f -a '(__redrive_complete)'
`,
};

const completion = command({
  summary: "Print a script that completes commands, options, jobs, queues and items in a shell.",
  examples: [
    "redrive completion bash >> ~/.bashrc",
    "redrive completion fish > ~/.config/fish/completions/redrive.fish",
  ],
  arguments: { shell: argument("<shell>", "the shell", SHELLS) },
  run: async ({ terminal }, { shell }) => {
    terminal.stdout.write(COMPLETION_SCRIPTS[shell as Shell]);
    return EXIT.done;
  },
});

export const commands = { completion };

/** Prints one line for each candidate: the word, a tab, and its description. */
export async function printCandidates(
  { terminal, storeUrl }: Context,
  parser: Parser,
  words: readonly string[],
): Promise<number> {
  const engine = await existingStore(storeUrl);
  try {
    for (const { word, about } of await candidatesFor(parser, words, engine))
      terminal.stdout.write(`${word}\t${about.replace(/\s+/g, " ")}\n`);
  } finally {
    await engine?.close();
  }
  return EXIT.done;
}

/** Returns null if the store is missing or cannot be opened; commands and options are still completed. */
async function existingStore(url: string): Promise<Engine | null> {
  try {
    return await openStore(url, { mustExist: true });
  } catch {
    return null;
  }
}

interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Takes the words up to the cursor without the program name; the last one is being typed and may be empty. */
async function candidatesFor(program: Parser, words: readonly string[], engine: Engine | null) {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  if (before.includes("--")) return []; // the words after `--` are the user's command
  const position = positionOf(program, before);
  const all = await fitting(position, typed, engine);
  return all.filter(({ word }) => word.startsWith(typed) && word !== typed);
}

/** The command at the cursor, its arguments and options so far, and an option whose value is missing. */
interface Position {
  readonly command: Parser;
  readonly given: readonly string[];
  readonly options: ReadonlyMap<string, string>;
  readonly waiting: Option | undefined;
}

function positionOf(program: Parser, words: readonly string[]): Position {
  let command = program;
  let waiting: Option | undefined;
  const given: string[] = [];
  const options = new Map<string, string>();
  for (const word of words) {
    if (waiting) {
      options.set(waiting.attributeName(), word);
      waiting = undefined;
    } else if (word.startsWith("-")) {
      const option = command.options.find((one) => one.short === word || one.long === word);
      waiting = option?.required ? option : undefined;
    } else {
      const isCalled = (one: Parser) => one.name() === word || one.aliases().includes(word);
      const below = given.length === 0 ? command.commands.find(isCalled) : undefined;
      if (below) command = below;
      else given.push(word);
    }
  }
  return { command, given, options, waiting };
}

async function fitting(position: Position, typed: string, engine: Engine | null) {
  const { command, given, waiting } = position;
  if (waiting) return valuesOf(waiting.attributeName(), waiting.argChoices, position, engine);
  if (typed.startsWith("-")) return optionsOf(command);
  if (command.commands.length > 0 && given.length === 0) return commandsOf(command);
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[given.length] ?? (last?.variadic ? last : undefined);
  return argument === undefined ? [] : valuesOf(argument.name(), argument.argChoices, position, engine);
}

/** Skips hidden commands, which have no summary. */
function commandsOf(command: Parser): readonly Candidate[] {
  return command.commands
    .filter((one) => one.summary() !== "" || one.description() !== "")
    .map((one) => ({ word: one.name(), about: one.summary() || one.description() }));
}

function optionsOf(command: Parser): readonly Candidate[] {
  return command.options
    .filter(({ hidden, long }) => !hidden && long !== undefined)
    .map(({ long, description }) => ({ word: long ?? "", about: description }));
}

/** Completes by the name of an option or argument: `job`, `queue` and `items` mean the same in every command. */
async function valuesOf(
  name: string,
  choices: readonly string[] | undefined,
  position: Position,
  engine: Engine | null,
): Promise<readonly Candidate[]> {
  if (choices !== undefined) return choices.map((word) => ({ word, about: "" }));
  if (engine === null) return [];
  if (/^jobs?(-or-item)?$/.test(name)) return jobsOf(engine, ENDING_KINDS);
  if (/^queues?$/.test(name)) return jobsOf(engine, ["queue"]);
  if (name === "target") return jobsOf(engine, ["target"]);
  return /^items?$/.test(name) ? itemsOf(engine, position) : [];
}

const JOBS_MAX = 200;

async function jobsOf(engine: Engine, kinds: readonly JobKind[]): Promise<readonly Candidate[]> {
  const jobs = await engine.listJobs({ limit: JOBS_MAX, kinds });
  return jobs.map(({ id, name, status }) => ({ word: name === "" ? id : name, about: `${id}, ${status}` }));
}

const ITEMS_MAX = 500;

/** Lists letters for `dlq` commands, otherwise items of the queue; only those of the named job, if any. */
async function itemsOf(engine: Engine, { command, given, options }: Position): Promise<readonly Candidate[]> {
  const named = options.get("job") ?? options.get("queue") ?? given[0];
  const job = named === undefined ? null : await engine.findJob(named);
  if (command.parent?.name() !== "dlq") {
    if (job === null) return [];
    const items = await engine.listItems({ queue: job.id, limit: ITEMS_MAX });
    return items.map(({ itemId, state }) => ({ word: itemId, about: state }));
  }
  const queue = job === null ? {} : { queue: job.id };
  const { letters } = await engine.listLetters({ ...queue, limit: ITEMS_MAX, parts: [], counted: false });
  return letters.map(({ itemId, errorPattern }) => ({ word: itemId, about: errorPattern }));
}
