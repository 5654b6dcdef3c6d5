/** Refuses to start if a program that every item needs is not installed, instead of failing every item. */
import { templateParts } from "../attempt/template.ts";
import { RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { isInstalled, missingPrograms, type ProgramPhase } from "../workflow/missing-programs.ts";
import { environmentOf, quoteForShell } from "../workflow/variables.ts";
import { type WorkflowSpec, workflowSpecOf } from "../workflow/workflow-spec.ts";
import { type MapSpec, specOf } from "./map-spec.ts";

/** Checks a command that runs once per item. A program name with variables is resolved for each item. */
export function requireCommand(
  { command, cwd }: Pick<MapSpec, "command" | "cwd">,
  usage = "redrive map",
): void {
  const program = command[0] ?? "";
  const form = "redrive map --input FILE -- COMMAND [ARG…]";
  if (program === "") throw new RedriveError("usage", "No command was given.", { hint: form });
  const hasPlaceholders = placeholdersOf(program).length > 0;
  if (isShellLine(program, hasPlaceholders) && !isInstalled(program, { cwd }))
    throw shellLine(command, usage);
  if (hasPlaceholders || isInstalled(program, { cwd })) return;
  const where = program.includes("/") ? ` or cannot be executed (in ${cwd})` : " in PATH";
  const hint =
    wordsBeforeCommand(command, usage) ??
    `Check the spelling, the path and the execute permission. To run a shell line, use: ${usage} -- sh -c '…'.`;
  throw new RedriveError("command_not_found", `The command ${program} was not found${where}.`, { hint });
}

/**
 * The command begins with the first word that is not an option, so a name or a file before `--` is taken as
 * the program.
 */
function wordsBeforeCommand(command: readonly string[], usage: string): string | undefined {
  const separator = command.indexOf("--");
  if (separator < 0 || separator === command.length - 1) return undefined;
  const meant = command
    .slice(separator + 1)
    .map(asWord)
    .join(" ");
  return `Everything from ${asWord(command[0] ?? "")} on was taken as the command. Write only options before "--": ${usage} -- ${meant}`;
}

function placeholdersOf(text: string): readonly string[] {
  return templateParts(text, { braces: true }).flatMap((part) =>
    typeof part === "string" ? [] : part.written,
  );
}

/** A path to a program may contain spaces and variables; text that starts with a program's name is a shell command. */
function isShellLine(program: string, hasPlaceholders: boolean): boolean {
  const [first = "", ...rest] = program.trim().split(/\s+/);
  return rest.length > 0 && (!hasPlaceholders || !/[/{]/.test(first));
}

function shellLine(command: readonly string[], usage: string): RedriveError {
  const [program = "", ...rest] = command;
  const line = program.trim().replaceAll(QUOTED_PLACEHOLDER, "$2"); // the quotes would duplicate those of `"$1"`
  const words = [...placeholdersOf(line), ...rest];
  let script = `${line}${" {}".repeat(rest.length)}`;
  for (const [index, placeholder] of [...placeholdersOf(line), ...rest.map(() => "{}")].entries())
    script = script.replace(placeholder, () => `"$${index + 1}"`);
  const shell = ["sh -c", quoteForShell(script), ...(words.length > 0 ? ["sh"] : []), ...words.map(asWord)];
  // If the quotes were omitted, the user's own shell would interpret the line.
  const unquoted = `Omit the quotes: ${usage} -- ${[line, ...rest.map(asWord)].join(" ")}\n  `;
  const hint = `${SHELL_SYNTAX.test(line) ? "" : unquoted}Use a shell: ${usage} -- ${shell.join(" ")}`;
  const message = `The command "${program}" is a single quoted text, and no program has that name.`;
  return new RedriveError("command_not_found", message, { hint });
}

const QUOTED_PLACEHOLDER = /(["'])(\{\}|\$\{[^}]*\})\1/g;
const SHELL_SYNTAX = /[;&|<>()$`*?~#"']/;

function asWord(text: string): string {
  return /^[\w{}./=:-]+$/.test(text) ? text : quoteForShell(text);
}

/** Checks the phases of a workflow. Programs of conditional steps, or of steps that handle their failure, may be missing. */
export function requirePrograms(spec: WorkflowSpec, phases: readonly ProgramPhase[]): void {
  const { workflow, cwd } = spec;
  const found = missingPrograms(workflow, { phases, cwd, env: environmentOf(spec) });
  const needed = found.filter(({ isNeeded }) => isNeeded);
  if (needed.length === 0) return;
  const list = needed.map(({ program, where }) => `${program} (${where})`).join(", ");
  const one = `The program ${list} was not found in PATH.`;
  const message = needed.length === 1 ? one : `Programs were not found in PATH: ${list}.`;
  const hint = "Install it, or correct the step. No item was run.";
  throw new RedriveError("command_not_found", message, { hint });
}

/** Checks the job's own handler before letters are retried with it. */
export function requireInstalled(job: Job): void {
  if (job.kind === "map") requireCommand(specOf(job));
  if (job.kind === "workflow") requirePrograms(workflowSpecOf(job), ["map"]);
}
