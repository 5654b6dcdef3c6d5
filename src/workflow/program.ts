/** From the action of a step to the program that is run for it: a script by `sh`, an agent with its prompt at the end. */
import type { Filled } from "../attempt/template-parts.ts";
import type { Action, Step } from "./model.ts";
import { splitWords } from "./split-words.ts";
import type { At } from "./step-run.ts";
import { expand } from "./variables.ts";

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
  const words: string[] = [];
  for (const template of [...action.command, action.prompt]) {
    const word = expand(template, variables, "plain");
    if (!word.ok) return word;
    words.push(word.value);
  }
  const argv = [...words.slice(0, -1), ...extra.value, ...words.slice(-1)];
  return { ok: true, value: { argv, protocol } };
}

/** Arguments of the user's own for every `claude`, such as the permissions that it has. */
const ARGS_VARIABLE = "REDRIVE_CLAUDE_ARGS";

function extraWords(step: Step, { run }: At): Filled<string[]> {
  const line = step.env[ARGS_VARIABLE] ?? run.world.env[ARGS_VARIABLE] ?? process.env[ARGS_VARIABLE] ?? "";
  const words = splitWords(line);
  return words.ok ? words : { ok: false, message: `${ARGS_VARIABLE} cannot be read: ${words.message}.` };
}
