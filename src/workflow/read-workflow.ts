/** Parses the YAML text of a workflow, or returns all its problems with line and column. */
import { basename, extname } from "node:path";
import { RedriveError } from "../errors.ts";
import { DEFAULT_BREAKER, DEFAULT_POLICY, type Policy } from "../retry/policy.ts";
import { compact } from "../std/json.ts";
import { checkForm } from "../yaml/form.ts";
import { type FormProblem, problemText, readYaml } from "../yaml/read-yaml.ts";
import { checkWorkflow } from "./check-workflow.ts";
import type { Action, FailureHandler, MapPhase, Step, Validation, Workflow } from "./model.ts";
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
import { type ErrorPolicyForm, type PhaseForm, type WorkflowForm, workflowForm } from "./yaml-form.ts";

export { problemText };

export function parseWorkflow(
  text: string,
  { file, variables = [] }: { readonly file: string; readonly variables?: readonly string[] },
): { readonly workflow: Workflow } | { readonly problems: readonly FormProblem[] } {
  const read = readYaml(text, {
    empty: "the file is empty; `redrive init` writes an example workflow",
    notMapping: "a workflow must be a mapping with keys such as name and map",
  });
  if (read.raw === undefined) return { problems: read.problems([]) };
  const { value, findings } = checkForm(workflowForm, read.raw);
  const problems = read.problems([...findings, ...checkWorkflow(read.raw, variables)]);
  if (!value || problems.length > 0) return { problems };
  return { workflow: buildWorkflow(value, basename(file, extname(file))) };
}

/** Returns the workflow, or throws one usage error that lists all problems. `variables` are the names that `--var` sets. */
export function requireWorkflow(
  text: string,
  file: string,
  options: { readonly variables?: readonly string[] } = {},
): Workflow {
  const parsed = parseWorkflow(text, { file, ...options });
  if ("workflow" in parsed) return parsed.workflow;
  const { problems } = parsed;
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const list = problems.map((problem) => `  ${problemText(problem, file)}`).join("\n");
  throw new RedriveError("usage", `${file} has ${count}:\n${list}`, { hint: "Nothing was run." });
}

function buildWorkflow(form: WorkflowForm, fileName: string): Workflow {
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
    phaseTimeoutMs: compact({
      setup: timeoutOf(form.setup),
      reduce: timeoutOf(form.reduce),
      merge: timeoutOf(form.merge),
    }),
    policy: buildPolicy(policy, form.retry),
    onItemFailureSteps: buildSteps(
      typeof policy.on_item_failure === "object" ? policy.on_item_failure.custom : policy.custom_handler,
    ),
  };
}

const DEFAULT_PARALLEL = 10;

function buildMap(form: WorkflowForm["map"]): MapPhase {
  const { agent_timeout_secs: timeoutSecs, agent_template: template } = form;
  return compact({
    input: typeof form.input === "string" ? { file: form.input } : form.input,
    sortBy: listOf(form.sort_by).flatMap(parseSortKeys),
    offset: form.offset ?? 0,
    maxParallel: form.max_parallel ?? DEFAULT_PARALLEL,
    isolation: form.isolation ?? "worktree",
    keep: form.keep ?? [],
    keepWorktrees: form.keep_worktrees,
    steps: buildSteps("commands" in template ? template.commands : template),
    jsonPath: form.json_path,
    idField: form.id_field,
    filter: form.filter,
    distinct: form.distinct || undefined,
    maxItems: form.max_items,
    agentTimeoutMs: timeoutSecs === undefined ? undefined : Math.round(timeoutSecs * 1000),
  });
}

function buildPolicy(form: ErrorPolicyForm, retry: RetryForm | undefined): Policy {
  const { failure_threshold, timeout, success_threshold, half_open_requests } = form.circuit_breaker ?? {};
  const breaker = {
    failureThreshold: failure_threshold,
    timeoutMs: milliseconds(timeout),
    successThreshold: success_threshold,
    halfOpenRequests: half_open_requests,
  };
  return {
    ...DEFAULT_POLICY,
    ...buildRetry(form.retry_config ?? retry ?? {}),
    onItemFailure: typeof form.on_item_failure === "object" ? "custom" : (form.on_item_failure ?? "dlq"),
    ...compact({
      continueOnFailure: form.continue_on_failure,
      maxFailures: form.max_failures,
      failureThreshold: form.failure_threshold,
      onOutage: form.on_outage,
      outageMsMax: milliseconds(form.max_outage),
      breaker: form.circuit_breaker && { ...DEFAULT_BREAKER, ...compact(breaker) },
    }),
  };
}

function stepsOf(phase: PhaseForm | undefined): readonly Step[] {
  return buildSteps(phase !== undefined && "commands" in phase ? phase.commands : phase);
}

function timeoutOf(phase: PhaseForm | undefined): number | undefined {
  return phase !== undefined && "commands" in phase ? milliseconds(phase.timeout) : undefined;
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : [value].flat();
}

function buildSteps(form: StepsForm | undefined): readonly Step[] {
  if (form === undefined) return [];
  return isList(form) ? form.map(buildStep) : [buildStep(form)];
}

function buildStep(form: StepForm): Step {
  const name = form.capture ?? form.capture_output;
  return compact({
    action: buildAction(form),
    env: buildEnvironment(form.env),
    onSuccess: buildSteps(form.on_success),
    onExitCode: Object.fromEntries(
      Object.entries(form.on_exit_code ?? {}).map(([code, steps]) => [code, buildSteps(steps)]),
    ),
    commitRequired: form.commit_required ?? false,
    id: form.id,
    timeoutMs: milliseconds(form.timeout),
    silenceMs: milliseconds(form.silence_timeout),
    workingDir: form.working_dir,
    when: form.when,
    capture: name === undefined ? undefined : { name, format: form.capture_format ?? ("string" as const) },
    onFailure: form.on_failure && buildHandler(form.on_failure),
    retry: form.retry && buildRetry(form.retry),
    validate: form.validate && buildValidation(form.validate),
    outputFile: form.output_file,
  });
}

function buildEnvironment(form: WorkflowForm["env"]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(form ?? {}).map(([name, value]) => [name, String(value)]));
}

/** Grants no permissions: users add them with REDRIVE_CLAUDE_ARGS. */
const CLAUDE = ["claude", "--print", "--output-format", "stream-json", "--verbose"];

function buildAction({ shell, claude, agent, write_file: file, foreach }: StepForm): Action {
  if (claude !== undefined) return { kind: "agent", command: CLAUDE, prompt: claude, protocol: "claude" };
  if (agent !== undefined) {
    const { command, prompt, prompt_by: promptBy } = agent;
    const words = typeof command === "string" ? splitWords(command) : command;
    return compact({ kind: "agent" as const, command: words, prompt, promptBy, protocol: "plain" as const });
  }
  if (file !== undefined) {
    const mode = file.mode === undefined ? {} : { mode: Number.parseInt(file.mode, 8) };
    return { kind: "write_file", path: file.path, content: file.content, ...mode };
  }
  if (foreach !== undefined) return buildForeach(foreach);
  return { kind: "shell", script: shell ?? "" };
}

function buildForeach(form: ForeachForm): Action {
  return compact({
    kind: "foreach" as const,
    items: form.items ?? form.list ?? [],
    steps: buildSteps(form.steps ?? form.do),
    parallel: form.parallel ?? 1,
    maxItems: form.max_items,
  });
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
  return compact({
    step: buildStep(step),
    threshold: threshold ?? ENOUGH,
    onIncomplete: onIncomplete && buildHandler(onIncomplete),
  });
}

function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}
