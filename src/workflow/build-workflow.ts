/** Builds a workflow from its checked YAML form. */
import { DEFAULT_BREAKER, DEFAULT_POLICY, type Policy } from "../retry/policy.ts";
import type { Action, FailureHandler, MapPhase, SortKey, Step, Validation, Workflow } from "./model.ts";
import { splitWords } from "./program.ts";
import { parseSortKeys } from "./select-items.ts";
import {
  buildRetry,
  type ForeachForm,
  type HandlerForm,
  milliseconds,
  type RetryForm,
  type StepForm,
  type StepsForm,
  type ValidateForm,
} from "./step-form.ts";
import type { ErrorPolicyForm, PhaseForm, WorkflowForm } from "./yaml-form.ts";

/** The workflow; it takes its name from the file when it has none. */
export function buildWorkflow(form: WorkflowForm, fileName: string): Workflow {
  const policy = form.error_policy ?? {};
  return {
    name: form.name ?? fileName,
    env: buildEnvironment(form.env),
    secrets: form.secrets ?? [],
    envFiles: listOf(form.env_files),
    setup: stepsOf(form.setup),
    map: buildMap(form.map),
    reduce: stepsOf(form.reduce),
    merge: stepsOf(form.merge),
    phaseTimeoutMs: {
      ...timeoutOf("setup", form.setup),
      ...timeoutOf("reduce", form.reduce),
      ...timeoutOf("merge", form.merge),
    },
    policy: buildPolicy(policy, form.retry),
    onItemFailureSteps: handlerOf(policy),
  };
}

const DEFAULT_PARALLEL = 10;

function buildMap(form: WorkflowForm["map"]): MapPhase {
  const { agent_timeout_secs: timeoutSecs, agent_template: template } = form;
  return {
    input: typeof form.input === "string" ? { file: form.input } : form.input,
    sortBy: listOf(form.sort_by).flatMap(sortKeysOf),
    offset: form.offset ?? 0,
    maxParallel: form.max_parallel ?? DEFAULT_PARALLEL,
    isolation: form.isolation ?? "worktree",
    keep: form.keep ?? [],
    ...(form.keep_worktrees !== undefined && { keepWorktrees: form.keep_worktrees }),
    steps: buildSteps("commands" in template ? template.commands : template),
    ...(form.json_path !== undefined && { jsonPath: form.json_path }),
    ...(form.id_field !== undefined && { idField: form.id_field }),
    ...(form.filter !== undefined && { filter: form.filter }),
    ...(form.distinct !== undefined && form.distinct !== false && { distinct: form.distinct }),
    ...(form.max_items !== undefined && { maxItems: form.max_items }),
    ...(timeoutSecs !== undefined && { agentTimeoutMs: Math.round(timeoutSecs * 1000) }),
  };
}

function buildPolicy(form: ErrorPolicyForm, retry: RetryForm | undefined): Policy {
  const breaker = form.circuit_breaker;
  const outageMsMax = milliseconds(form.max_outage);
  return {
    ...DEFAULT_POLICY,
    ...buildRetry(form.retry_config ?? retry ?? {}),
    onItemFailure: typeof form.on_item_failure === "object" ? "custom" : (form.on_item_failure ?? "dlq"),
    continueOnFailure: form.continue_on_failure ?? DEFAULT_POLICY.continueOnFailure,
    ...(form.max_failures !== undefined && { maxFailures: form.max_failures }),
    ...(form.failure_threshold !== undefined && { failureThreshold: form.failure_threshold }),
    ...(form.on_outage !== undefined && { onOutage: form.on_outage }),
    ...(outageMsMax !== undefined && { outageMsMax }),
    ...(breaker && {
      breaker: {
        failureThreshold: breaker.failure_threshold ?? DEFAULT_BREAKER.failureThreshold,
        timeoutMs: milliseconds(breaker.timeout) ?? DEFAULT_BREAKER.timeoutMs,
        successThreshold: breaker.success_threshold ?? DEFAULT_BREAKER.successThreshold,
        halfOpenRequests: breaker.half_open_requests ?? DEFAULT_BREAKER.halfOpenRequests,
      },
    }),
  };
}

function handlerOf({ on_item_failure: action, custom_handler: handler }: ErrorPolicyForm): readonly Step[] {
  return buildSteps(typeof action === "object" ? action.custom : handler);
}

function stepsOf(phase: PhaseForm | undefined): readonly Step[] {
  return buildSteps(phase !== undefined && "commands" in phase ? phase.commands : phase);
}

function timeoutOf<K extends string>(
  name: K,
  phase: PhaseForm | undefined,
): { readonly [key in K]?: number } {
  const timeout = phase !== undefined && "commands" in phase ? milliseconds(phase.timeout) : undefined;
  return timeout === undefined ? {} : ({ [name]: timeout } as { [key in K]: number });
}

function sortKeysOf(text: string): readonly SortKey[] {
  const parsed = parseSortKeys(text);
  return parsed.ok ? parsed.value : [];
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

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
