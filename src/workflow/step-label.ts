/** How a step is named: to people with its values filled in, and in messages the same for every item. */
import { basename } from "node:path";
import type { Json } from "../kit/json.ts";
import { oneLine } from "../triage/clean.ts";
import type { Step } from "./model.ts";
import { expandKnown } from "./variables.ts";

const LABEL_CHARS_MAX = 200;
const NAME_CHARS_MAX = 120;

/** E.g. `shell: cargo test --all`; a secret is replaced before anything is cut, and so never half shown. */
export function stepLabel(
  step: Step,
  variables: Readonly<Record<string, Json>>,
  mask: (text: string) => string,
): string {
  const { kind, text, mode } = labelParts(step);
  return oneLine(`${kind}: ${mask(expandKnown(text, variables, mode))}`, LABEL_CHARS_MAX);
}

function labelParts({ action }: Step): { kind: string; text: string; mode: "plain" | "shell" } {
  switch (action.kind) {
    case "shell":
      return { kind: "shell", text: action.script, mode: "shell" };
    case "agent":
      return { kind: programOf(action.command), text: action.prompt, mode: "plain" };
    case "write_file":
      return { kind: "write_file", text: action.path, mode: "plain" };
    case "foreach": {
      const items = typeof action.items === "string" ? action.items : `${action.items.length} items`;
      return { kind: "foreach", text: items, mode: "plain" };
    }
  }
}

/** What a failure's message calls the step: without values, so that the same failures are one group. */
export function stepName({ action }: Step): string {
  switch (action.kind) {
    case "shell":
      return oneLine(tellingLineOf(action.script), NAME_CHARS_MAX) || "the script";
    case "agent":
      return programOf(action.command);
    case "write_file":
      return `write_file ${oneLine(action.path, NAME_CHARS_MAX)}`;
    case "foreach":
      return "foreach";
  }
}

/** The first line that does something, not a comment or the shell's own settings. */
function tellingLineOf(script: string): string {
  const lines = script.split("\n").filter((line) => line.trim() !== "");
  return lines.find((line) => !/^\s*(#|set [-+])/.test(line)) ?? lines[0] ?? "";
}

function programOf(command: readonly string[]): string {
  return basename(command[0] ?? "") || "agent";
}
