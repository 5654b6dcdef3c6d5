/** Builds the command line of a `shell` or `agent` step. Item values and secrets are passed as data, never as options. */
import { basename } from "node:path";
import { resumeCommand } from "../agent/continue-session.ts";
import { type FilledWord, optionProblem, templateParts } from "../attempt/template.ts";
import { RedriveError } from "../errors.ts";
import type { Action, Step } from "./model.ts";
import { fillScript, type ShellScript } from "./shell-values.ts";
import type { At } from "./step-context.ts";
import { expand, expandParts, naming } from "./variables.ts";

export interface Program {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Values to write to files. Each key is the name of the environment variable that gets the path of its file. */
  readonly files: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly protocol: "claude" | "plain";
}

type ActionOf<K extends Action["kind"]> = Extract<Action, { kind: K }>;

/** Throws a usage error when the step cannot be run for this item. */
export function programOf(action: ActionOf<"shell" | "agent">, step: Step, at: At): Program {
  if (action.kind === "agent") return agentProgram(action, step, at);
  const { text, env, files } = secretScript(action.script, at.scope.all(), at.run.context.secretValues);
  return { argv: ["sh", "-c", text], env, files, stdin: "", protocol: "plain" };
}

/** Rejects secrets in the script text: it is an argument of the shell, and so visible to other users. */
export function secretScript(
  template: string,
  variables: ReturnType<At["scope"]["all"]>,
  secrets: readonly string[],
): ShellScript {
  const script = fillScript(template, variables);
  if (!secrets.some((secret) => script.text.includes(secret) && !template.includes(secret))) return script;
  throw new RedriveError(
    "usage",
    "${raw:…} would put a secret into the text of the script, which other users of the machine can read while it runs. Write $NAME or ${env.NAME}.",
  );
}

/** The program that continues the session with a message. Undefined if none is known. */
export function resumeProgramOf(
  action: ActionOf<"agent">,
  step: Step,
  at: At,
  { id, message }: { readonly id: string; readonly message: string | undefined },
): Program | undefined {
  const scope = at.scope.with({ agent: { session: id } });
  const own = action.resume?.map((written) => filledWord(written, { ...at, scope }));
  const known = resumeCommand(action.command, id)?.map((word) => {
    return action.command.includes(word) ? filledWord(word, at) : literalWord(word, word);
  });
  const words = own ?? known;
  return words && agentProgram(action, step, at, { words, prompt: message });
}

/** `continued` contains the arguments and the prompt for continuing a session. */
function agentProgram(
  action: ActionOf<"agent">,
  step: Step,
  at: At,
  continued?: { readonly words: readonly FilledWord[]; readonly prompt: string | undefined },
): Program {
  const { prompt: template, promptBy = "stdin", protocol } = action;
  const words = [...(continued?.words ?? action.command.map((written) => filledWord(written, at)))];
  if (protocol === "claude") words.push(...extraWords(step, at));
  const prompt = continued?.prompt ?? promptOf(template, step, at);
  if (promptBy === "argument") {
    // After `--`, a prompt that begins with `-` is not parsed as an option.
    if (!words.some(({ value }) => value === "--")) words.push(literalWord("--", "--"));
    words.push({ written: template, literal: "", value: prompt });
  }
  const problem = optionProblem(words) ?? secretProblem(words, at.run.context.secretValues);
  if (problem !== undefined) throw new RedriveError("usage", `agent: ${problem}.`);
  const stdin = promptBy === "stdin" ? prompt : "";
  return { argv: words.map(({ value }) => value), env: {}, files: {}, stdin, protocol };
}

function filledWord(written: string, { scope }: At): FilledWord {
  const [literal] = templateParts(written);
  return {
    written,
    literal: typeof literal === "string" ? literal : "",
    value: expand(written, scope.all()),
  };
}

function literalWord(written: string, value: string): FilledWord {
  return { written, literal: value, value };
}

function secretProblem(words: readonly FilledWord[], secrets: readonly string[]): string | undefined {
  const word = words.find(({ written, value }) =>
    secrets.some((secret) => value.includes(secret) && !written.includes(secret)),
  );
  if (word === undefined) return undefined;
  const program = basename(words[0]?.value ?? "");
  return `an argument of ${program} would contain a secret, which other users of the machine can read while it runs. Let ${program} read it from its environment, or pass the prompt with prompt_by: stdin`;
}

/** Expands `$NAME` if the workflow's or the step's `env` defines it. Any other `$` stays unchanged. */
function promptOf(template: string, step: Step, at: At): string {
  const env = { ...at.run.context.env, ...stepEnvironment(step, at) };
  const parts = templateParts(template).map((part) =>
    typeof part === "string" ? fillEnvironment(part, env) : part,
  );
  return expandParts(parts, at.scope.all());
}

const ENVIRONMENT_NAME = /(\\?)\$([A-Za-z_]\w*)/g;

function fillEnvironment(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(ENVIRONMENT_NAME, (written, backslash: string, name: string) => {
    if (!Object.hasOwn(env, name)) return written;
    return backslash === "" ? (env[name] ?? "") : `$${name}`;
  });
}

export function stepEnvironment(step: Step, { scope }: At): Record<string, string> {
  const variables = scope.all();
  const entries = Object.entries(step.env).map(([name, template]) => [
    name,
    naming(`env ${name}`, () => expand(template, variables)),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** The user's extra arguments for every `claude` command, such as permissions. */
const ARGS_VARIABLE = "REDRIVE_CLAUDE_ARGS";

function extraWords(step: Step, { run }: At): FilledWord[] {
  const line = step.env[ARGS_VARIABLE] ?? run.context.env[ARGS_VARIABLE] ?? process.env[ARGS_VARIABLE] ?? "";
  const words = naming(`${ARGS_VARIABLE} cannot be read`, () => splitWords(line));
  return words.map((value) => literalWord(ARGS_VARIABLE, value));
}

const TOKEN = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|[\s\S]/g;

/** Splits a line like a shell, without expansions. Throws a usage error when a quote is not closed. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [token, single, double, escaped, plain] of line.matchAll(TOKEN)) {
    const part = single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain;
    if (part !== undefined) word = (word ?? "") + part;
    else if (token.trim() !== "")
      throw new RedriveError(
        "usage",
        token === "\\" ? "it ends with a backslash that escapes nothing" : "a quote is not closed",
      );
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}
