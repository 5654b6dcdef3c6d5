/** `redrive validate`: every problem of a workflow at once, each with its line. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { WorkError } from "../../errors.ts";
import { parseWorkflow, problemText } from "../../workflow/schema.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export async function validate(context: Context, file: string): Promise<number> {
  const parsed = parseWorkflow(read(resolve(context.terminal.cwd, file)), { file });
  const problems = "problems" in parsed ? parsed.problems : [];
  context.answer(
    { valid: problems.length === 0, problems: problems.map((problem) => ({ ...problem })) },
    () =>
      problems.length === 0
        ? `${file} is valid.\n`
        : problems.map((problem) => `${problemText(problem, file)}\n`).join(""),
  );
  return problems.length === 0 ? EXIT.done : EXIT.usage;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new WorkError("usage", `The workflow ${path} cannot be read.`, { cause: error });
  }
}
