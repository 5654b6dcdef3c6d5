/**
 * The results of ended steps that later steps can read: `${shell.output}`, `${last.exit_code}`,
 * `${steps.build.success}`.
 */
import type { Output } from "../attempt/output.ts";
import type { Json, JsonObject } from "../std/json.ts";
import type { Step } from "./model.ts";
import type { At } from "./step-context.ts";
import { type Scope, withoutLineEnd } from "./step-variables.ts";

export interface StepResult {
  /** Undefined if the output is too large for a variable. */
  readonly output: string | undefined;
  readonly exitCode: number | null;
  readonly isDone: boolean;
  readonly stderr?: string;
  readonly durationMs: number;
}

/** Stores the result under the kind of the step, under `last`, and under its id and the name of its capture. */
export function recordResult(step: Step, result: StepResult, { scope }: At): void {
  const { output, exitCode, isDone, stderr = "", durationMs } = result;
  const record: JsonObject = {
    ...(output !== undefined && { output: withoutLineEnd(output) }),
    exit_code: exitCode,
    success: isDone,
    stderr: withoutLineEnd(stderr),
    duration: durationMs / 1000,
  };
  if (step.action.kind === "shell") scope.set("shell", record);
  if (step.action.kind === "agent") scope.set("claude", record);
  scope.set("last", record);
  for (const name of [step.id, step.capture?.name]) if (name !== undefined) setNamed(scope, name, record);
}

/** A step that `when` skipped counts as not succeeded. Its capture from an earlier round is kept. */
export function recordSkipped({ id, capture }: Step, { scope }: At): void {
  const record = { output: "", exit_code: null, success: false, stderr: "", duration: 0 };
  for (const name of [id, capture?.name]) if (name !== undefined) setNamed(scope, name, record);
}

function setNamed(scope: Scope, name: string, record: Json): void {
  const { steps } = scope.all();
  scope.set("steps", {
    ...(typeof steps === "object" && !Array.isArray(steps) ? steps : {}),
    [name]: record,
  });
}

/** How much of the end of a stream later steps can read. */
const STDERR_BYTES_MAX = 64 * 1024;

export function tailOf(stream: Output | undefined): string {
  return stream?.tail(STDERR_BYTES_MAX) ?? "";
}
