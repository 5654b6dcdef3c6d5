/** `redrive validate`: every problem of a workflow file, with line and column. It runs nothing. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { WorkError } from "../../errors.ts";
import { missingPrograms } from "../../workflow/missing-programs.ts";
import type { Workflow } from "../../workflow/model.ts";
import { parseWorkflow, problemText } from "../../workflow/schema.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

interface ValidateFlags {
  /** `NAME=VALUE`, as `redrive run` takes it; only the names count here. */
  readonly var?: readonly string[];
}

export async function validate(context: Context, file: string, flags: ValidateFlags = {}): Promise<number> {
  const text = readWorkflow(resolve(context.terminal.cwd, file), file);
  const variables = (flags.var ?? []).map((given) => given.split("=", 1)[0] ?? "");
  const parsed = parseWorkflow(text, { file, variables });
  const problems = "problems" in parsed ? parsed.problems : [];
  const warnings = "workflow" in parsed ? warningsOf(context, parsed.workflow) : [];
  context.answer(
    { valid: problems.length === 0, problems: problems.map((problem) => ({ ...problem })), warnings },
    () =>
      problems.length === 0
        ? `${file} is valid.\n${warnings.map(({ message }) => `Warning: ${message}\n`).join("")}`
        : `${problems.map((problem) => `${problemText(problem, file)}\n`).join("")}${countText(problems.length)}\n`,
  );
  return problems.length === 0 ? EXIT.done : EXIT.usage;
}

type Warning = { readonly program: string; readonly where: string; readonly message: string };

/** The values of env_files are read by a run only; they may be made by then. */
function warningsOf({ terminal: { cwd } }: Context, workflow: Workflow): readonly Warning[] {
  const phases = ["setup", "map", "reduce", "merge"] as const;
  return missingPrograms(workflow, { phases, cwd, env: workflow.env }).map(({ program, where }) => ({
    program,
    where,
    message: `${where}: the program ${program} was not found in PATH.`,
  }));
}

function countText(count: number): string {
  return count === 1 ? "1 problem." : `${count} problems.`;
}

function readWorkflow(path: string, file: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new WorkError("usage", `The workflow ${file} cannot be read${reason}.`, {
      cause: error,
      hint: "`redrive init` writes one that runs as it is.",
    });
  }
}
