/** Builds the command line of a `shell` or `agent` step. Item values and secrets are passed as data, never as options. */
import { basename } from "node:path";
import { type Filled, type FilledWord, optionProblem, templateParts } from "../attempt/template.ts";
import type { Action, Step } from "./model.ts";
import { fillScript } from "./shell-values.ts";
import type { At } from "./step-context.ts";
import { expand, expandPlain } from "./variables.ts";

export interface Program {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Values to write to files. Each key is the name of the environment variable that gets the path of its file. */
  readonly files: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly protocol: "claude" | "plain";
}

type ProgramAction = Extract<Action, { kind: "shell" | "agent" }>;
type AgentAction = Extract<Action, { kind: "agent" }>;

export function programOf(action: ProgramAction, step: Step, at: At): Filled<Program> {
  return action.kind === "shell" ? scriptProgram(action.script, at) : agentProgram(action, step, at);
}

function scriptProgram(template: string, at: At): Filled<Program> {
  const script = fillScript(template, at.scope.all());
  if (!script.ok) return script;
  const { text, env, files } = script.value;
  const problem = rawSecretProblem(template, text, at.run.context.secretValues);
  if (problem !== undefined) return { ok: false, message: problem };
  return { ok: true, value: { argv: ["sh", "-c", text], env, files, stdin: "", protocol: "plain" } };
}

/** Rejects secrets in the script text: it is an argument of the shell, and so visible to other users. */
export function rawSecretProblem(
  template: string,
  text: string,
  secrets: readonly string[],
): string | undefined {
  if (!secrets.some((secret) => text.includes(secret) && !template.includes(secret))) return undefined;
  return "${raw:…} would put a secret into the text of the script, which other users of the machine can read while it runs. Write $NAME or ${env.NAME}.";
}

function agentProgram(action: AgentAction, step: Step, at: At): Filled<Program> {
  const { protocol, promptBy = "stdin" } = action;
  const extra = protocol === "claude" ? extraWords(step, at) : { ok: true as const, value: [] };
  if (!extra.ok) return extra;
  const command = commandWords(action.command, at);
  if (!command.ok) return command;
  const prompt = promptOf(action.prompt, step, at);
  if (!prompt.ok) return prompt;
  const words = [
    ...command.value,
    ...extra.value.map((value) => ({ written: ARGS_VARIABLE, literal: value, value })),
  ];
  if (promptBy === "argument") words.push(...promptWords(words, action.prompt, prompt.value));
  const problem = optionProblem(words) ?? secretProblem(words, at.run.context.secretValues);
  if (problem !== undefined) return { ok: false, message: `agent: ${problem}.` };
  const stdin = promptBy === "stdin" ? prompt.value : "";
  return {
    ok: true,
    value: { argv: words.map(({ value }) => value), env: {}, files: {}, stdin, protocol },
  };
}

function commandWords(templates: readonly string[], at: At): Filled<FilledWord[]> {
  const words: FilledWord[] = [];
  for (const written of templates) {
    const word = expand(written, at.scope.all());
    if (!word.ok) return word;
    const [literal] = templateParts(written);
    words.push({ written, literal: typeof literal === "string" ? literal : "", value: word.value });
  }
  return { ok: true, value: words };
}

function literalWord(word: string): FilledWord {
  return { written: word, literal: word, value: word };
}

/** Puts `--` before the prompt, so that a prompt that begins with `-` is not parsed as an option. */
function promptWords(before: readonly FilledWord[], written: string, value: string): FilledWord[] {
  const end = before.some((word) => word.value === "--") ? [] : [literalWord("--")];
  return [...end, { written, literal: "", value }];
}

function secretProblem(words: readonly FilledWord[], secrets: readonly string[]): string | undefined {
  const word = words.find(({ written, value }) =>
    secrets.some((secret) => value.includes(secret) && !written.includes(secret)),
  );
  if (word === undefined) return undefined;
  const program = basename(words[0]?.value ?? "");
  return `an argument of ${program} would have a secret in it, which other users of the machine can read while it runs. Let ${program} read it from its environment, or pass the prompt with prompt_by: stdin`;
}

/** Expands `$NAME` if the workflow's or the step's `env` defines it. Any other `$` stays unchanged. */
function promptOf(template: string, step: Step, at: At): Filled<string> {
  const own = stepEnvironment(step, at);
  if (!own.ok) return own;
  const env = { ...at.run.context.env, ...own.value };
  const parts = templateParts(template).map((part) =>
    typeof part === "string" ? fillEnvironment(part, env) : part,
  );
  return expandPlain(parts, at.scope.all());
}

const ENVIRONMENT_NAME = /(\\?)\$([A-Za-z_]\w*)/g;

function fillEnvironment(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(ENVIRONMENT_NAME, (written, backslash: string, name: string) => {
    if (!Object.hasOwn(env, name)) return written;
    return backslash === "" ? (env[name] ?? "") : `$${name}`;
  });
}

export function stepEnvironment(step: Step, { scope }: At): Filled<Record<string, string>> {
  const variables = scope.all();
  const own: Record<string, string> = {};
  for (const [name, template] of Object.entries(step.env)) {
    const value = expand(template, variables);
    if (!value.ok) return { ok: false, message: `env ${name}: ${value.message}` };
    own[name] = value.value;
  }
  return { ok: true, value: own };
}

/** The user's extra arguments for every `claude` command, such as permissions. */
const ARGS_VARIABLE = "REDRIVE_CLAUDE_ARGS";

function extraWords(step: Step, { run }: At): Filled<string[]> {
  const line = step.env[ARGS_VARIABLE] ?? run.context.env[ARGS_VARIABLE] ?? process.env[ARGS_VARIABLE] ?? "";
  const words = splitWords(line);
  return words.ok ? words : { ok: false, message: `${ARGS_VARIABLE} cannot be read: ${words.message}.` };
}

const TOKEN = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|[\s\S]/g;

export function splitWords(line: string): Filled<string[]> {
  const words: string[] = [];
  let word: string | undefined;
  for (const [token, single, double, escaped, plain] of line.matchAll(TOKEN)) {
    const part = single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain;
    if (part !== undefined) word = (word ?? "") + part;
    else if (token.trim() !== "")
      return { ok: false, message: `a ${token === "\\" ? "backslash" : "quote"} has no end` };
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return { ok: true, value: word === undefined ? words : [...words, word] };
}
