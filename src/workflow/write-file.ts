/** The `write_file` step: a template becomes a file, inside of where the step runs and nowhere else. */

import { insideRoot, writeAtomically } from "./inside-root.ts";
import type { Action, Step } from "./model.ts";
import { hopeless, writeTrouble } from "./step-failure.ts";
import { logLine } from "./step-log.ts";
import type { At, StepEnd } from "./step-run.ts";
import { expand } from "./variables.ts";

/** Its output, for `capture`, is the path as it was written. */
export async function writeFileStep(
  { path, content, mode }: Extract<Action, { kind: "write_file" }>,
  step: Step,
  at: At,
): Promise<StepEnd> {
  const variables = at.scope.all();
  const folder = expand(step.workingDir ?? ".", variables);
  const name = expand(path, variables);
  const text = expand(content, variables);
  if (!folder.ok) return hopeless(at, folder.message);
  if (!name.ok) return hopeless(at, name.message);
  if (!text.ok) return hopeless(at, text.message);
  const target = insideRoot(at.run.world.root, name.value, folder.value);
  if (!target.ok) return hopeless(at, target.message);
  const bytes = Buffer.from(text.value);
  try {
    writeAtomically(target.value, [bytes], mode);
  } catch (error) {
    await logLine(at, "failed");
    return writeTrouble(at, name.value, error);
  }
  await logLine(at, `${bytes.length} bytes`);
  return { kind: "done", output: name.value };
}
