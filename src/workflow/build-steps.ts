/** Makes the steps that run out of the form in which they were written: aliases resolved, defaults filled in. */
import type { Action, FailureHandler, Step, Validation } from "./model.ts";
import { buildRetry, milliseconds } from "./retry-form.ts";
import { splitWords } from "./split-words.ts";
import type { ForeachForm, HandlerForm, StepForm, StepsForm, ValidateForm } from "./step-form.ts";

/** One step or several, as a list. */
export function buildSteps(form: StepsForm | undefined): readonly Step[] {
  if (form === undefined) return [];
  return isList(form) ? form.map(buildStep) : [buildStep(form)];
}

function buildStep(form: StepForm): Step {
  const timeoutMs = milliseconds(form.timeout);
  const capture = form.capture ?? form.capture_output;
  return {
    action: buildAction(form),
    env: buildEnvironment(form.env),
    onSuccess: buildSteps(form.on_success),
    onExitCode: Object.fromEntries(
      Object.entries(form.on_exit_code ?? {}).map(([code, steps]) => [code, buildSteps(steps)]),
    ),
    commitRequired: form.commit_required ?? false,
    ...(form.id !== undefined && { id: form.id }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(form.working_dir !== undefined && { workingDir: form.working_dir }),
    ...(form.when !== undefined && { when: form.when }),
    ...(capture !== undefined && { capture: { name: capture, format: form.capture_format ?? "string" } }),
    ...(form.on_failure !== undefined && { onFailure: buildHandler(form.on_failure) }),
    ...(form.retry !== undefined && { retry: buildRetry(form.retry) }),
    ...(form.validate !== undefined && { validate: buildValidation(form.validate) }),
    ...(form.output_file !== undefined && { outputFile: form.output_file }),
  };
}

/** Environment variables are text. */
export function buildEnvironment(
  form: Readonly<Record<string, string | number | boolean>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(form ?? {}).map(([name, value]) => [name, String(value)]));
}

/** Which permissions the agent has is the user's to say; nothing is skipped here. */
const CLAUDE = ["claude", "--print", "--output-format", "stream-json", "--verbose"];

function buildAction({ shell, claude, agent, write_file: file, foreach }: StepForm): Action {
  if (claude !== undefined) return { kind: "agent", command: CLAUDE, prompt: claude, protocol: "claude" };
  if (agent !== undefined) {
    const command = typeof agent.command === "string" ? wordsOf(agent.command) : agent.command;
    const promptBy = agent.prompt_by === undefined ? {} : { promptBy: agent.prompt_by };
    return { kind: "agent", command, prompt: agent.prompt, ...promptBy, protocol: "plain" };
  }
  if (file !== undefined) {
    const mode = file.mode === undefined ? {} : { mode: Number.parseInt(file.mode, 8) };
    return { kind: "write_file", path: file.path, content: file.content, ...mode };
  }
  if (foreach !== undefined) return buildForeach(foreach);
  return { kind: "shell", script: shell ?? "" };
}

function wordsOf(line: string): readonly string[] {
  const words = splitWords(line);
  return words.ok ? words.value : [line];
}

function buildForeach(form: ForeachForm): Action {
  return {
    kind: "foreach",
    items: form.items ?? form.list ?? [],
    steps: buildSteps(form.steps ?? form.do),
    parallel: form.parallel ?? 1,
    ...(form.max_items !== undefined && { maxItems: form.max_items }),
  };
}

function buildHandler(form: HandlerForm): FailureHandler {
  if (isList(form)) return { steps: form.map(buildStep), maxAttempts: 1, failWorkflow: true };
  const { steps, commands, max_attempts: maxAttempts, fail_workflow: failWorkflow, ...step } = form;
  return {
    steps: buildSteps(steps ?? commands ?? step),
    maxAttempts: maxAttempts ?? 1,
    failWorkflow: failWorkflow ?? true,
  };
}

const ENOUGH = 100;

function buildValidation({ threshold, on_incomplete: onIncomplete, ...step }: ValidateForm): Validation {
  return {
    step: buildStep(step),
    threshold: threshold ?? ENOUGH,
    ...(onIncomplete !== undefined && { onIncomplete: buildHandler(onIncomplete) }),
  };
}

function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}
