/** From the action of a step to the program that is run for it: a script by `sh`, an agent with its prompt at the end. */
import { type Filled, templateParts } from "../attempt/template-parts.ts";
import type { Action, Step } from "./model.ts";
import { splitWords } from "./split-words.ts";
import type { At } from "./step-run.ts";
import { expand, expandPlain } from "./variables.ts";

export interface Program {
  readonly argv: readonly string[];
  readonly protocol: "claude" | "plain";
}

type ProgramAction = Extract<Action, { kind: "shell" | "agent" }>;

/** With all values filled in, those of a script quoted for the shell. */
export function programOf(action: ProgramAction, step: Step, at: At): Filled<Program> {
  const variables = at.scope.all();
  if (action.kind === "shell") {
    const script = expand(action.script, variables, "shell");
    return script.ok ? { ok: true, value: { argv: ["sh", "-c", script.value], protocol: "plain" } } : script;
  }
  const { protocol } = action;
  const extra = protocol === "claude" ? extraWords(step, at) : { ok: true as const, value: [] };
  if (!extra.ok) return extra;
  const command: string[] = [];
  for (const template of action.command) {
    const word = expand(template, variables, "plain");
    if (!word.ok) return word;
    command.push(word.value);
  }
  const prompt = promptOf(action.prompt, step, at);
  return prompt.ok
    ? { ok: true, value: { argv: [...command, ...extra.value, prompt.value], protocol } }
    : prompt;
}

/** `$NAME` of the workflow's or the step's `env` is filled, as a shell would; any other `$` stays as it is. */
function promptOf(template: string, step: Step, at: At): Filled<string> {
  const own = stepEnvironment(step, at);
  if (!own.ok) return own;
  const env = { ...at.run.world.env, ...own.value };
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

/** The step's own `env`, with its values. */
export function stepEnvironment(step: Step, { scope }: At): Filled<Record<string, string>> {
  const variables = scope.all();
  const own: Record<string, string> = {};
  for (const [name, template] of Object.entries(step.env)) {
    const value = expand(template, variables, "plain");
    if (!value.ok) return { ok: false, message: `env ${name}: ${value.message}` };
    own[name] = value.value;
  }
  return { ok: true, value: own };
}

/** Arguments of the user's own for every `claude`, such as the permissions that it has. */
const ARGS_VARIABLE = "REDRIVE_CLAUDE_ARGS";

function extraWords(step: Step, { run }: At): Filled<string[]> {
  const line = step.env[ARGS_VARIABLE] ?? run.world.env[ARGS_VARIABLE] ?? process.env[ARGS_VARIABLE] ?? "";
  const words = splitWords(line);
  return words.ok ? words : { ok: false, message: `${ARGS_VARIABLE} cannot be read: ${words.message}.` };
}
