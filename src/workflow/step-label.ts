/** Names a step in two ways: with item values for people, and without them for error messages. */
import { basename } from "node:path";
import { templateParts } from "../attempt/template.ts";
import type { Json } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import type { Step } from "./model.ts";
import { expandKnown } from "./variables.ts";

const LABEL_CHARS_MAX = 200;
const NAME_CHARS_MAX = 120;
const SHORT_CHARS_MAX = 60;
const COMMAND_CHARS_MAX = 40;

/** Example: `shell: cargo test --all`. Secrets are masked before the label is shortened, so that no part of one remains. */
export function stepLabel(
  step: Step,
  variables: Readonly<Record<string, Json>>,
  mask: (text: string) => string,
): string {
  if (step.name !== undefined)
    return oneLine(mask(expandKnown(step.name, variables, "plain")), LABEL_CHARS_MAX);
  const { kind, text, mode } = labelParts(step);
  return oneLine(`${kind}: ${mask(expandKnown(text, variables, mode))}`, LABEL_CHARS_MAX);
}

function labelParts({ action }: Step): { kind: string; text: string; mode: "plain" | "shell" } {
  if (action.kind === "shell") return { kind: "shell", text: action.script, mode: "shell" };
  if (action.kind === "agent") return { kind: programOf(action.command), text: action.prompt, mode: "plain" };
  if (action.kind === "write_file") return { kind: "write_file", text: action.path, mode: "plain" };
  const { items } = action;
  if (typeof items === "string") return { kind: "foreach", text: items, mode: "plain" };
  if ("command" in items) return { kind: "foreach", text: items.command, mode: "shell" };
  return { kind: "foreach", text: `${items.length} items`, mode: "plain" };
}

/** Names the step in failure messages. Contains no item values, so that equal failures form one group. */
export function stepName({ action, id }: Step): string {
  if (action.kind === "shell") return scriptName(action.script.trim(), id);
  if (action.kind === "agent") return programOf(action.command);
  if (action.kind === "foreach") return "foreach";
  return `write_file ${oneLine(withoutValues(action.path), NAME_CHARS_MAX)}`;
}

function scriptName(script: string, id: string | undefined): string {
  const text = withoutValues(script);
  if (text.length <= SHORT_CHARS_MAX && !text.includes("\n"))
    return oneLine(text, SHORT_CHARS_MAX) || "the script";
  const command = `${oneLine(firstCommand(text), COMMAND_CHARS_MAX).replace(/ ?…$/, "")} …`;
  return id === undefined ? command : `step ${id} (${command})`;
}

function withoutValues(template: string): string {
  return templateParts(template)
    .map((part) => (typeof part === "string" ? part : "…"))
    .join("");
}

/** Returns the first command of the first line that is not only preparation. */
function firstCommand(script: string): string {
  const lines = script.split("\n").filter((line) => /[^\s{}()]/.test(line));
  const line = lines.find((one) => !PREPARES.test(one)) ?? lines[0] ?? "the script";
  return (COMMAND.exec(line.trim())?.[0] ?? line).trim();
}

/** Matches a line that contains only a comment, a shell option, a `cd` or an assignment. */
const PREPARES =
  /^\s*(?:#|(?:set [-+]|cd |export |[A-Za-z_]\w*=(?:'[^']*'|"[^"]*"|[^\s'";&|])*\s*$)[^;&|]*$)/;
/** Matches words and quoted texts up to a `;`, `&` or `|`, but not the `&` in `2>&1`. */
const COMMAND = /^(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[<>]&|[^;&|])+/;

function programOf(command: readonly string[]): string {
  return basename(command[0] ?? "") || "agent";
}
