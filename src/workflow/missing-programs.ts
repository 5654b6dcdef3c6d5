/** Finds programs of agents and of plain shell commands that are not installed, before any item runs. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { tryTo } from "../std/try-to.ts";
import type { Step, Workflow } from "./model.ts";

export type ProgramPhase = "setup" | "map" | "reduce" | "merge";

/** A program of a step. `isNeeded` is false when the step is conditional, or when its failure is handled. */
interface Use {
  readonly program: string;
  readonly step: Step;
  readonly where: string;
  readonly isNeeded: boolean;
}

export function missingPrograms(
  workflow: Workflow,
  options: {
    readonly phases: readonly ProgramPhase[];
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
  },
): Omit<Use, "step">[] {
  const { phases, cwd, env } = options;
  const missing = new Map<string, Omit<Use, "step">>();
  for (const { step, ...use } of phases.flatMap((phase) => usesOf(workflow, phase))) {
    const { program } = use;
    const path = step.env.PATH ?? env.PATH ?? process.env.PATH ?? "";
    if (!isFixed(program, path) || isInstalled(program, { cwd, path })) continue;
    const known = missing.get(program);
    if (known === undefined || (use.isNeeded && !known.isNeeded)) missing.set(program, use);
  }
  return [...missing.values()];
}

/** A program with variables or a relative path can only be resolved when the item runs. */
function isFixed(program: string, path: string): boolean {
  if (program === "" || program.includes("${") || path.includes("${")) return false;
  if (program.includes("/")) return program.startsWith("/");
  return path.split(":").every((folder) => folder.startsWith("/"));
}

function usesOf(workflow: Workflow, phase: ProgramPhase): readonly Use[] {
  if (phase !== "map") return usesIn(workflow[phase], phase, true);
  return [
    ...usesIn(workflow.map.steps, "map", true),
    ...usesIn(workflow.itemMerge?.onConflict ?? [], "merge.on_conflict", false),
    ...usesIn(workflow.verify?.steps ?? [], "verify", true),
    ...usesIn(workflow.onItemFailureSteps, "error_policy", false),
  ];
}

function usesIn(steps: readonly Step[], where: string, isNeeded: boolean): readonly Use[] {
  return steps.flatMap((step, index) => usesOfStep(step, `${where}, step ${index + 1}`, isNeeded));
}

function usesOfStep(step: Step, where: string, isReached: boolean): readonly Use[] {
  const { action, when, onFailure, onSuccess, onExitCode, validate } = step;
  const isRun = isReached && when === undefined;
  const isNeeded = isRun && onFailure === undefined && Object.keys(onExitCode).length === 0;
  const inner = (steps: readonly Step[], name: string) => usesIn(steps, `${where}, ${name}`, false);
  const program = programOf(action);
  return [
    ...(program === undefined ? [] : [{ program, step, where, isNeeded }]),
    ...(action.kind === "foreach" ? usesIn(action.steps, `${where}, foreach`, isRun) : []),
    ...(validate ? usesOfStep(validate.step, `${where}, validate`, isRun) : []),
    ...inner(validate?.onIncomplete?.steps ?? [], "on_incomplete"),
    ...inner(onFailure?.steps ?? [], "on_failure"),
    ...inner(onSuccess, "on_success"),
    ...Object.values(onExitCode).flatMap((handler) => inner(handler, "on_exit_code")),
  ];
}

function programOf(action: Step["action"]): string | undefined {
  if (action.kind === "agent") return action.command[0];
  if (action.kind !== "shell") return undefined;
  if (action.script.includes("${raw:")) return undefined;
  const script = action.script.trim().replaceAll(/\$\{[^}]*\}/g, "…");
  const [, program = ""] = PLAIN_COMMAND.exec(script) ?? [];
  return program === "" || SHELL_WORDS.has(program) ? undefined : program;
}

/** A program name and arguments on one line, without shell syntax. */
const PLAIN_COMMAND = /^([A-Za-z0-9][\w.+-]*)(?:[ \t]+[^\n;&|<>()`$#!]*)?$/;

/** Keywords and builtins of the common implementations of `sh`. */
const SHELL_WORDS = new Set(
  `alias bg break builtin caller case cd command compgen complete continue declare dirs disown do done echo elif else
  enable esac eval exec exit export false fc fg fi for function getopts hash help history if in jobs kill let local logout
  mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test then time times
  trap true type typeset ulimit umask unalias unset until wait whence while`.split(/\s+/),
);

/** Whether the program's file exists and is executable. `path` defaults to the PATH of this process. */
export function isInstalled(
  program: string,
  { cwd, path = process.env.PATH ?? "" }: { readonly cwd: string; readonly path?: string },
): boolean {
  const folders = program.includes("/") ? [""] : path.split(delimiter);
  return folders
    .map((folder) => join(folder, program))
    .some((file) => isExecutable(isAbsolute(file) ? file : join(cwd, file)));
}

function isExecutable(path: string): boolean {
  const found = tryTo(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile(); // folders can have the x permission too
  });
  return found ?? false;
}
