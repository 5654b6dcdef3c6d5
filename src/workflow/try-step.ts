/**
 * One try of one step: its action, then everything that has to hold for it to count as done. Trying again and handling
 * a failure is `run-step.ts`.
 */
import { captureValue, tooLarge, VALUE_BYTES_MAX, withoutLineEnd } from "./capture-output.ts";
import { foreachStep } from "./foreach.ts";
import { insideRoot, writeAtomically } from "./inside-root.ts";
import type { Step } from "./model.ts";
import { programOf } from "./program.ts";
import { type Ran, runProgram } from "./run-program.ts";
import { hopeless, ruleFailure, thrownFailure, writeTrouble } from "./step-failure.ts";
import { type At, inside, type StepEnd, withDeadline } from "./step-run.ts";
import { validateStep } from "./validate-step.ts";
import { expand } from "./variables.ts";
import { writeFileStep } from "./write-file.ts";

/** `headBefore`: the commit that HEAD was at when the step began, for `commit_required`. */
export async function tryStep(step: Step, at: At, headBefore: string | undefined): Promise<StepEnd> {
  const acted = await act(step, at);
  if (acted.kind !== "done") return acted;
  const checks = [() => checkCommit(step, at, headBefore), () => checkValidation(step, at)];
  for (const check of checks) {
    const end = await check();
    if (end.kind !== "done") return end;
  }
  return acted;
}

function act(step: Step, at: At): Promise<StepEnd> {
  const { action } = step;
  switch (action.kind) {
    case "shell":
    case "agent": {
      const program = programOf(action, step, at);
      if (!program.ok) return Promise.resolve(hopeless(at, program.message));
      return runProgram(step, program.value, at).then((ran) =>
        ran.kind === "ran" ? heed(ran, step, at) : ran,
      );
    }
    case "write_file":
      return writeFileStep(action, step, at).then((end) => useText(end, step, at));
    case "foreach":
      return withDeadline(at, step.timeoutMs, "foreach", (limited) => foreachStep(action, limited)).then(
        (end) => useText(end, step, at),
      );
  }
}

/** A process has ended: what it printed is used before its files go, then the steps for its exit code decide. */
async function heed(ran: Ran, step: Step, at: At): Promise<StepEnd> {
  const text = valueText(ran);
  const output = text === undefined ? {} : { output: text };
  const steps = ran.isFinal ? undefined : stepsFor(step, ran.exitCode);
  try {
    if (step.action.kind === "shell") {
      at.scope.set("shell", text === undefined ? {} : { output: withoutLineEnd(text) });
    }
    if (ran.failed && !steps) return { ...ran.failed, ...output };
    const used = useOutput(
      { text, bytes: ran.output.bytes, chunks: ran.output.chunks() },
      step,
      at,
      ran.output.isWhole,
    );
    if (used.kind !== "done") return { ...used, ...output };
  } finally {
    ran.release();
  }
  const decided = steps ? await at.runList(steps, inside(at, `on_exit_code ${ran.exitCode}`)) : undefined;
  return decided && decided.kind !== "done" ? decided : { kind: "done", ...output };
}

function stepsFor({ onExitCode }: Step, exitCode: number | null): readonly Step[] | undefined {
  const code = String(exitCode);
  return exitCode !== null && Object.hasOwn(onExitCode, code) ? onExitCode[code] : undefined;
}

/** What it printed, as a value; undefined when that is too large or not whole. */
function valueText({ output }: Ran): string | undefined {
  if (output.bytes > VALUE_BYTES_MAX || !output.isWhole) return undefined;
  return Buffer.concat(Array.from(output.chunks(), (chunk) => Buffer.from(chunk))).toString("utf8");
}

function useText(end: StepEnd, step: Step, at: At): StepEnd {
  if (end.kind !== "done") return end;
  const text = end.output ?? "";
  const bytes = Buffer.from(text);
  const used = useOutput({ text, bytes: bytes.length, chunks: [bytes] }, step, at, true);
  return used.kind === "done" ? end : used;
}

interface Printed {
  /** Undefined when it is too large to be a value. */
  readonly text: string | undefined;
  readonly bytes: number;
  readonly chunks: Iterable<Buffer>;
}

function useOutput(printed: Printed, step: Step, at: At, isWhole: boolean): StepEnd {
  if (step.outputFile !== undefined) {
    const copied = isWhole
      ? copyOutput(printed, step, step.outputFile, at)
      : ruleFailure(at, "ResourceExhausted", "output_file: the output is too large; a part of it is lost");
    if (copied.kind !== "done") return copied;
  }
  return step.capture ? capture(printed, step.capture, at) : { kind: "done" };
}

function copyOutput({ chunks }: Printed, step: Step, outputFile: string, at: At): StepEnd {
  const variables = at.scope.all();
  const folder = expand(step.workingDir ?? ".", variables);
  const name = expand(outputFile, variables);
  if (!folder.ok) return hopeless(at, folder.message);
  if (!name.ok) return hopeless(at, `output_file: ${name.message}`);
  const target = insideRoot(at.run.world.root, name.value, folder.value);
  if (!target.ok) return hopeless(at, `output_file: ${target.message}`);
  try {
    writeAtomically(target.value, chunks);
    return { kind: "done" };
  } catch (error) {
    return writeTrouble(at, name.value, error);
  }
}

function capture({ text, bytes }: Printed, { name, format }: NonNullable<Step["capture"]>, at: At): StepEnd {
  const value =
    text === undefined ? { ok: false as const, message: tooLarge(bytes) } : captureValue(text, format);
  if (!value.ok) return ruleFailure(at, "ValidationFailed", `the output for "${name}" ${value.message}`);
  at.scope.set(name, value.value);
  return { kind: "done" };
}

async function checkCommit(step: Step, at: At, headBefore: string | undefined): Promise<StepEnd> {
  const { head } = at.run.world;
  if (!step.commitRequired || !head) return { kind: "done" };
  try {
    if ((await head()) !== headBefore) return { kind: "done" };
  } catch (error) {
    return thrownFailure(at, "WorktreeError", "HEAD could not be read", error);
  }
  return ruleFailure(at, "CommitValidationFailed", `${at.name} made no commit, and commit_required is set`);
}

function checkValidation({ validate }: Step, at: At): Promise<StepEnd> {
  return validate ? validateStep(validate, at) : Promise.resolve({ kind: "done" });
}
