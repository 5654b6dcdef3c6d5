/** Translates commands and options of Prodigy to those of Redrive, so that existing scripts keep working. */

const COMMANDS: Readonly<Record<string, string>> = {
  cook: "run",
  "resume-job": "resume",
  "migrate-yaml": "migrate-workflow",
  worktree: "worktrees",
  progress: "status",
  sessions: "jobs",
};

const OPTIONS: Readonly<Record<string, string>> = {
  "--job-id": "--job",
  "--workflow-id": "--job",
  "--older-than-days": "--older-than",
  "--max-iterations": "--iterations",
  "--param": "--var",
  "--param-file": "--var-file",
};

/** Changes nothing after `--`, where the words are the user's command. */
export function fromProdigy(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  const [first = "", ...rest] = own;
  const command = Object.hasOwn(COMMANDS, first) ? (COMMANDS[first] ?? first) : first;
  const changed = rewordOf(command, rest, first);
  return [...(own.length > 0 ? [command] : []), ...withOptions(changed), ...words.slice(own.length)];
}

function rewordOf(command: string, words: readonly string[], given: string): readonly string[] {
  if (command === "events") return eventWords(words);
  if (command === "run" || command === "resume")
    return words.filter((word, at) => !ANSWERS.test(word) || TAKES_TEXT.test(words[at - 1] ?? ""));
  if (given === "worktree" || given === "sessions") return listWords(command, words);
  return command === "dlq" && words[0] === "stats" ? statsWords(words) : words;
}

/** Work is merged without a question, and there are no levels of detail. */
const ANSWERS = /^(?:-y|--yes|--auto-accept|-v{1,3}|--verbose)$/;

const TAKES_TEXT = /^--(?:args|map|var|param)$/;

/** `worktree ls` is `worktrees list`, `sessions ls` is `jobs`. */
function listWords(command: string, [verb, ...rest]: readonly string[]): readonly string[] {
  const isList = verb === "ls" || verb === "list";
  if (command === "jobs") return isList ? rest : [verb ?? "", ...rest].filter(Boolean);
  return isList ? ["list", ...rest] : [verb ?? "", ...rest].filter(Boolean);
}

const OF_JOB = /^--(?:job-id|workflow-id)(?:=(.*))?$/;

/** Translates `dlq stats --job-id JOB` to `dlq stats JOB`. */
function statsWords(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => {
    const match = OF_JOB.exec(word);
    if (match === null) return [word];
    return match[1] === undefined ? [] : [match[1]];
  });
}

function withOptions(words: readonly string[]): readonly string[] {
  return words.map((word, index) => {
    if (words[index - 1] === "--older-than-days") return inDays(word);
    const [name = "", ...value] = word.split("=");
    const to = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
    if (to === undefined) return word;
    if (value.length === 0) return to;
    const text = value.join("=");
    return `${to}=${name === "--older-than-days" ? inDays(text) : text}`;
  });
}

function inDays(text: string): string {
  return /^\d+$/.test(text) ? `${text}d` : text;
}

/** Translates `events follow --job-id JOB` to `events JOB --follow`. */
function eventWords(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => word === "--job-id" || word.startsWith("--job-id="));
  if (at < 0) return words;
  const isJoined = words[at] !== "--job-id";
  const job = isJoined ? (words[at] ?? "").slice("--job-id=".length) : words[at + 1];
  const others = words.filter((_, index) => index !== at && (isJoined || index !== at + 1));
  const [verb = "", ...rest] = others;
  const given = job === undefined ? [] : [job];
  if (verb === "ls" || verb === "list") return [...given, ...rest];
  return verb === "follow" ? [...given, "--follow", ...rest] : [...given, ...others];
}
