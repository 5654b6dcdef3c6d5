/** Parses the YAML text of a workflow, or returns all its problems with line and column. */
import { basename, extname } from "node:path";
import type { Budget } from "../agent/budget.ts";
import { RedriveError } from "../errors.ts";
import { DEFAULT_BREAKER, DEFAULT_POLICY, type Policy } from "../retry/policy.ts";
import { compact, isJsonObject } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import { checkForm } from "../yaml/form.ts";
import { type Finding, type FormProblem, problemText, readYaml } from "../yaml/read-yaml.ts";
import { checkWorkflow } from "./check-workflow.ts";
import {
  type Action,
  type FailureHandler,
  type ItemMerge,
  iterationItems,
  type MapPhase,
  type Step,
  type Validation,
  type Verify,
  type Workflow,
} from "./model.ts";
import { type Checkpoint, continueFrom } from "./prodigy/checkpoint.ts";
import { rewriteProdigy } from "./prodigy/rewrite.ts";
import type { RewriteOptions, Rewriting } from "./prodigy/rewriting.ts";
import { splitWords } from "./program.ts";
import { parseSortKeys } from "./select-items.ts";
import {
  ACTION_KEYS,
  buildRetry,
  type ForeachForm,
  type HandlerForm,
  milliseconds,
  type RetryForm,
  type StepForm,
  type StepsForm,
  type ValidateForm,
} from "./step-form.ts";
import {
  type ErrorPolicyForm,
  type MergeForm,
  type PhaseForm,
  type WorkflowForm,
  workflowForm,
} from "./yaml-form.ts";

export { problemText };

export interface ParseOptions extends RewriteOptions {
  readonly file: string;
}

export type ParsedWorkflow = {
  /** Constructs of another format that have a different meaning or no effect. */
  readonly warnings: readonly FormProblem[];
  /** For each step of the file, the number of its first step in the workflow. */
  readonly stepStarts?: readonly number[] | undefined;
} & ({ readonly workflow: Workflow } | { readonly problems: readonly FormProblem[] });

export function parseWorkflow(text: string, { file, ...options }: ParseOptions): ParsedWorkflow {
  let rewriting: Rewriting | undefined;
  const read = readYaml(text, {
    empty: "the file is empty; `redrive init` writes an example workflow",
    notMapping: "a workflow must be a mapping with keys such as name and map",
    rewrite: (document) => {
      rewriting = rewriteProdigy(document, options);
    },
  });
  const noted = (rewriting?.notes ?? []).map(({ kind, at, message }) => ({
    kind,
    path: "",
    message,
    ...read.place(at),
  }));
  const warnings = noted.filter(({ kind }) => kind === "warning").map(({ kind: _, ...note }) => note);
  const refused = noted.filter(({ kind }) => kind === "problem").map(({ kind: _, ...note }) => note);
  if (read.raw === undefined) return { problems: [...refused, ...read.problems([])], warnings };
  if (rewriting?.isIncomplete) return { problems: refused, warnings };
  const { value, findings } = checkForm(workflowForm, read.raw);
  const variables = [...(options.variables ?? []), ...(rewriting?.assumed ?? [])];
  const profileProblem = unknownProfile(read.raw.profiles, options.profile);
  const found = read.problems([...findings, ...checkWorkflow(read.raw, variables), ...profileProblem]);
  const problems = [...refused, ...found].sort((a, b) => a.line - b.line || a.column - b.column);
  if (!value || problems.length > 0) return { problems, warnings };
  const workflow = buildWorkflow(value, {
    fileName: basename(file, extname(file)),
    profile: options.profile,
  });
  return { workflow, warnings, stepStarts: rewriting?.stepStarts };
}

function unknownProfile(profiles: unknown, profile: string | undefined): readonly Finding[] {
  const known = isJsonObject(profiles) ? Object.keys(profiles) : [];
  if (profile === undefined || known.includes(profile)) return [];
  const message = `there is no profile "${profile}". Profiles: ${known.join(", ") || "none"}`;
  return [{ path: known.length === 0 ? [] : ["profiles"], message, suggestion: nearest(profile, known) }];
}

/** Returns the workflow, or throws one usage error that lists all problems. `variables` are the names that `--var` sets. */
export function requireWorkflow(
  text: string,
  file: string,
  {
    checkpoint,
    ...options
  }: Omit<ParseOptions, "file" | "isRun"> & { readonly checkpoint?: Checkpoint } = {},
): Workflow {
  const parsed = parseWorkflow(text, { file, ...options, isRun: true });
  if ("workflow" in parsed)
    return checkpoint ? continueFrom(parsed.workflow, checkpoint, parsed.stepStarts) : parsed.workflow;
  const { problems } = parsed;
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const list = problems.map((problem) => `  ${problemText(problem, file)}`).join("\n");
  throw new RedriveError("usage", `${file} has ${count}:\n${list}`, { hint: "Nothing was run." });
}

function buildWorkflow(
  form: WorkflowForm,
  { fileName, profile }: { readonly fileName: string; readonly profile: string | undefined },
): Workflow {
  const policy = form.error_policy ?? {};
  return compact({
    name: form.name ?? fileName,
    env: { ...buildEnvironment(form.env), ...buildProfile(form, profile) },
    ...buildSecrets(form.secrets ?? []),
    envFiles: buildFiles(form.env_files),
    setup: stepsOf(form.setup),
    map: form.map === undefined ? buildSequence(form) : buildMap(form.map),
    verify: form.verify && buildVerify(form.verify),
    reduce: stepsOf(form.reduce),
    merge: stepsOf(form.merge),
    itemMerge: buildItemMerge(form.merge),
    phaseTimeoutMs: compact({
      setup: timeoutOf(form.setup),
      reduce: timeoutOf(form.reduce),
      merge: timeoutOf(form.merge),
    }),
    budget:
      form.budget &&
      (compact({ ...form.budget, attempt: form.budget.attempt && compact(form.budget.attempt) }) as Budget),
    policy: {
      ...buildPolicy(policy, form.retry),
      ...(form.map === undefined && sequencePolicy(policy.retry_config ?? form.retry)),
    },
    onItemFailureSteps: buildSteps(
      typeof policy.on_item_failure === "object" ? policy.on_item_failure.custom : policy.custom_handler,
    ),
  });
}

function buildProfile(
  { profiles }: WorkflowForm,
  profile: string | undefined,
): Readonly<Record<string, string>> {
  const { description: _, ...values } = (profile !== undefined && profiles?.[profile]) || {};
  return buildEnvironment(values);
}

function buildSecrets(form: NonNullable<WorkflowForm["secrets"]>): Pick<Workflow, "secrets" | "secretFiles"> {
  const names = form.map((entry) => (typeof entry === "string" ? entry : entry.name));
  const files = form.flatMap((entry) =>
    typeof entry === "string" ? [] : [[entry.name, entry.file] as const],
  );
  return { secrets: names, ...(files.length > 0 && { secretFiles: Object.fromEntries(files) }) };
}

function buildFiles(form: WorkflowForm["env_files"]): Workflow["envFiles"] {
  return [form ?? []]
    .flat()
    .map((entry) =>
      typeof entry !== "string" && entry.required === false
        ? { path: entry.path, isOptional: true as const }
        : typeof entry === "string"
          ? entry
          : entry.path,
    );
}

const DEFAULT_PARALLEL = 10;

/** Builds a workflow with a single item, whose steps run in the job's own worktree. */
function buildSequence({ steps, isolation, iterations, name }: WorkflowForm): MapPhase {
  const once = [{ id: "steps", data: name ?? "steps" }];
  return {
    input: { items: iterations === undefined ? once : iterationItems(iterations) },
    ...(iterations !== undefined && { iterations }),
    isSequential: true,
    sortBy: [],
    offset: 0,
    maxParallel: 1,
    isolation: isolation ?? "worktree",
    keep: [],
    steps: buildSteps(steps),
  };
}

/**
 * Later items build on earlier ones, so the run stops at the first failure. A killed runner does not count as
 * a failure of the steps.
 */
function sequencePolicy(retry: RetryForm | undefined): Partial<Policy> {
  const noRetries = { maxAttempts: 1, backoff: { kind: "fixed", delayMs: 0, jitter: false } } as const;
  return { continueOnFailure: false, lossesMax: SEQUENCE_LOSSES_MAX, ...(retry === undefined && noRetries) };
}

const SEQUENCE_LOSSES_MAX = 1000;

function buildMap(form: NonNullable<WorkflowForm["map"]>): MapPhase {
  const { agent_timeout_secs: timeoutSecs, agent_template: template } = form;
  return compact({
    input: typeof form.input === "string" ? { file: form.input } : form.input,
    sortBy: listOf(form.sort_by).flatMap(parseSortKeys),
    offset: form.offset ?? 0,
    maxParallel: form.max_parallel ?? DEFAULT_PARALLEL,
    isolation: form.isolation ?? "worktree",
    remote: form.remote,
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

const VERIFY_TIMEOUT_MS = 30 * 60_000;

function buildVerify(form: NonNullable<WorkflowForm["verify"]>): Verify | undefined {
  const { steps, batch = 1, timeout } = isList(form) ? { steps: form } : form;
  if (steps.length === 0) return undefined;
  return { steps: buildSteps(steps), batch, timeoutMs: milliseconds(timeout) ?? VERIFY_TIMEOUT_MS };
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
      onTimeout: form.on_timeout,
      outageMsMax: milliseconds(form.max_outage),
      breaker: form.circuit_breaker && { ...DEFAULT_BREAKER, ...compact(breaker) },
    }),
  };
}

function stepsOf(phase: PhaseForm | MergeForm | undefined): readonly Step[] {
  return buildSteps(phase === undefined || isList(phase) ? phase : phase.commands);
}

function timeoutOf(phase: PhaseForm | MergeForm | undefined): number | undefined {
  return phase === undefined || isList(phase) ? undefined : milliseconds(phase.timeout);
}

function buildItemMerge(form: MergeForm | undefined): ItemMerge | undefined {
  if (form === undefined || isList(form)) return undefined;
  const { strategy = "commit-per-item", message, on_conflict: onConflict } = form;
  return compact({ strategy, message, onConflict: onConflict && buildSteps(onConflict) });
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
    name: form.name,
    timeoutMs: milliseconds(form.timeout),
    continueSession: form.continue_session || undefined,
    silenceMs: milliseconds(form.silence_timeout),
    workingDir: form.working_dir,
    when: form.when,
    capture: name === undefined ? undefined : { name, format: form.capture_format ?? ("string" as const) },
    onFailure: form.on_failure && buildHandler(form.on_failure),
    retry:
      form.retry &&
      compact({
        ...buildRetry(form.retry),
        on: form.retry.retry_on,
        budgetMs: milliseconds(form.retry.retry_budget),
      }),
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
    const { command, resume, prompt, prompt_by: promptBy } = agent;
    const words = (line: string | readonly string[]) => (typeof line === "string" ? splitWords(line) : line);
    const commands = { command: words(command), resume: resume === undefined ? undefined : words(resume) };
    return compact({ kind: "agent" as const, ...commands, prompt, promptBy, protocol: "plain" as const });
  }
  if (file !== undefined) {
    const mode = file.mode === undefined ? {} : { mode: Number.parseInt(file.mode, 8) };
    const format = file.format === undefined || file.format === "text" ? {} : { format: file.format };
    return { kind: "write_file", path: file.path, content: file.content, ...mode, ...format };
  }
  if (foreach !== undefined) return buildForeach(foreach);
  return { kind: "shell", script: shell ?? "" };
}

function buildForeach(form: ForeachForm): Action {
  return compact({
    kind: "foreach" as const,
    items: form.items ?? form.list ?? [],
    ownItem: form.own_item || undefined,
    continueOnError: form.continue_on_error || undefined,
    steps: buildSteps(form.steps ?? form.do),
    parallel: form.parallel ?? 1,
    maxItems: form.max_items,
  });
}

function buildHandler(form: HandlerForm): FailureHandler {
  if (isList(form)) return { steps: form.map(buildStep), maxAttempts: 1, failWorkflow: true };
  const {
    steps,
    commands,
    max_attempts: maxAttempts,
    fail_workflow: failWorkflow,
    handler_failure_fatal: isFatal,
    ...step
  } = form;
  const list = steps ?? commands;
  return compact({
    steps: buildSteps(list ?? step),
    maxAttempts: maxAttempts ?? 1,
    failWorkflow: failWorkflow ?? true,
    isFailureFatal: isFatal || undefined,
    timeoutMs: list && milliseconds(step.timeout),
  });
}

const ENOUGH = 100;

function buildValidation({
  threshold,
  on_incomplete: onIncomplete,
  steps: list,
  result_file: resultFile,
  ...step
}: ValidateForm): Validation {
  const { timeout, ...single } = step;
  const isSelfRated = list === undefined && ACTION_KEYS.every((key) => step[key] === undefined);
  const steps = list === undefined ? [buildStep(isSelfRated ? { shell: "true" } : step)] : buildSteps(list);
  return compact({
    isSelfRated: isSelfRated || undefined,
    step: steps.at(-1) ?? buildStep(single),
    earlier: steps.length > 1 ? steps.slice(0, -1) : undefined,
    timeoutMs: list === undefined ? undefined : milliseconds(timeout),
    resultFile,
    threshold: threshold ?? ENOUGH,
    onIncomplete: onIncomplete && buildHandler(onIncomplete),
  });
}

function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}
