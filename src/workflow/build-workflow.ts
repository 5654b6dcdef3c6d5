/** Makes a workflow out of its form, which has passed every check. */
import { DEFAULT_BREAKER, DEFAULT_POLICY, type Policy } from "../retry/policy.ts";
import { buildEnvironment, buildSteps } from "./build-steps.ts";
import type { MapPhase, SortKey, Step, Workflow } from "./model.ts";
import { buildRetry, milliseconds, type RetryForm } from "./retry-form.ts";
import { parseSortKeys } from "./sort-keys.ts";
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
