/** The handler of a workflow's map phase: runs an item's steps in a checkout, then merges its commits into the job's branch. */

import { join } from "node:path";
import type { AgentReport } from "../agent/agent-record.ts";
import { unlessDiskFull } from "../attempt/capture.ts";
import { handlerLog, reportOf } from "../attempt/command.ts";
import type { AttemptContext } from "../attempt/handler.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import { activityToJson } from "../item/agent-activity.ts";
import { classOfType, type ErrorType } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { itemName, type LeasedItem, type Verdict } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Outcome } from "../item/settlement.ts";
import type { HandlerReport } from "../retry/decide.ts";
import { asText, compact, type Json, type JsonObject, parseJson, stringifyJson } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import { type RunStepsOptions, runSteps } from "../workflow/run-steps.ts";
import type { StepsEnd } from "../workflow/step-context.ts";
import { errorVariable } from "../workflow/step-variables.ts";
import { keepWorktreesOf } from "../workflow/workflow-spec.ts";
import type { Checkout, Finish, Merge } from "../workspace/workspace.ts";
import type { JobHandler, JobRuntime, RedriveEnd } from "./run-job.ts";
import { readCheckpoint, variablesToKeep, writeCheckpoint } from "./step-checkpoint.ts";
import {
  capturedSince,
  closeRuntime,
  itemVariables,
  jobVariables,
  openWorkflowRuntime,
  stepContextOf,
  type WorkflowRuntime,
} from "./workflow-runtime.ts";

/** Opens the handler for a redrive, which runs without the other phases. */
export async function openWorkflowHandler(job: Job, jobRuntime: JobRuntime): Promise<JobHandler> {
  const runtime = await openWorkflowRuntime(job, jobRuntime);
  return agentHandler(runtime, {
    close: () => closeRuntime(runtime),
    finish: (redrive) => finishRedrive(runtime, redrive),
  });
}

/** Merges the commits of a redrive only if the job has completed; otherwise the job merges them at its own end. */
async function finishRedrive({ job, workspace }: WorkflowRuntime, redrive: RedriveEnd): Promise<Finish> {
  const { end, status, askMerge } = redrive;
  if (end !== "interrupted" && status === "completed") {
    const finish = await workspace.finish();
    const isAgreed = finish.question !== undefined && ((await askMerge?.(finish.question)) ?? false);
    const merged = isAgreed ? await workspace.finish("merge") : finish;
    await workspace.tidy();
    return merged;
  }
  const { branch } = await workspace.finish("leave");
  if (branch === undefined) return {};
  const rest =
    status === "completed"
      ? `the retry was interrupted. To merge: redrive resume ${job.id} --no-dlq`
      : status === "running"
        ? `another process is running the job ${job.id} and will merge at the end. To follow it: redrive status ${job.id} --watch`
        : `the job ${job.id} is ${status}. To finish it: redrive resume ${job.id}`;
  const note = `The commits are in the branch ${branch} and are not merged: ${rest}`;
  return { note, branch, isRefused: true };
}

/** Called when an agent begins a step. */
export type OnAgentStep = (item: LeasedItem, index: number, total: number, label: string) => void;

export async function agentHandler(
  runtime: WorkflowRuntime,
  options: Pick<JobHandler, "close" | "finish"> & { readonly onStep?: OnAgentStep | undefined },
): Promise<JobHandler> {
  const { finish, onStep } = options;
  const merged = await runtime.workspace.mergedItems();
  const pool: AgentPool = { runtime, merged, checkouts: new Map(), releasing: new Set(), onStep };
  return {
    handler: (item, context) => runAgent(pool, item, context),
    policy: runtime.spec.workflow.policy,
    slots: runtime.spec.workflow.map.maxParallel,
    stopReason: () => runtime.agentRuns.stopReason,
    askHandler: (item, failure) => askSteps(runtime, item, failure),
    settled: (item, { verdict }) => releaseInBackground(pool, releaseCheckout(pool, item, verdict.kind)),
    ...(finish && { finish: (redrive) => afterAll(pool, () => finish(redrive)) }),
    close: () => afterAll(pool, options.close),
  };
}

interface AgentPool {
  readonly runtime: WorkflowRuntime;
  /** Items of earlier attempts that were merged but whose success was not recorded in the store. */
  readonly merged: ReadonlySet<string>;
  /** The checkouts of attempts that are not settled yet, by `ref/attempt`. */
  readonly checkouts: Map<string, Checkout>;
  readonly releasing: Set<Promise<void>>;
  readonly onStep: OnAgentStep | undefined;
}

async function runAgent(pool: AgentPool, item: LeasedItem, attempt: AttemptContext): Promise<Outcome> {
  const { runtime } = pool;
  const { logs, scratch } = runtime.jobRuntime;
  if (pool.merged.has(item.itemId) || (await isMergedElsewhere(runtime, item)))
    return { kind: "succeeded", result: { already_merged: true } };
  const { steps, agentTimeoutMs, isSequential } = runtime.spec.workflow.map;
  const checkout = isSequential ? runtime.workspace.own() : await acquire(runtime, item, attempt);
  if ("kind" in checkout) return checkout;
  pool.checkouts.set(keyOf(item), checkout);
  const agentId = checkout.name ?? attempt.agentId;
  const created = { item_id: item.itemId, worktree_path: checkout.root };
  if (checkout.head && !isSequential)
    await runtime.jobRuntime.recordEvent("worktree_created", created).catch((error: unknown) => {
      if (!isStoreTrouble(error)) throw error; // the runner itself waits until the store can be written
    });
  const variables: Record<string, Json> = { ...jobVariables(runtime), ...itemVariables(item) };
  if (isSequential) Object.assign(variables, iterationVariables(runtime, item));
  const before = new Set(Object.keys(variables));
  const progress = isSequential ? progressOf(runtime, item, { before, variables }) : {};
  const { signal, mayStart } = attempt;
  let step = "";
  const context = stepContextOf(runtime, {
    ...{ checkout, variables, signal, mayStart, agentId, lease: item },
    ownEnv: runtime.spec.workflow.map.hasArguments ? argumentEnvironment(asText(item.data)) : {},
    logPath: logs.log(item.itemId, item.attempt),
    scratch: `${scratch}/${attempt.slot}`,
    attempt: item.attempt,
    onStep: (index, total, label) => {
      step = `step ${index + 1} of ${total}: ${label}`;
      pool.onStep?.(item, index, total, label);
    },
    onAgent: (report) => attempt.progress(activityOf(step, report, runtime.masker.mask)),
  });
  const end = await runSteps(steps, context, { timeoutMs: agentTimeoutMs, ...progress });
  if (end.kind === "stopped") {
    await releaseCheckout(pool, item, "release");
    return compact({ kind: "released" as const, why: end.why ?? "the runner stopped", usage: end.usage });
  }
  const work = { runtime, item, agentId, checkout };
  return end.kind === "failed" ? failed(work, end) : mergeWork(work, end, capturedSince(before, variables));
}

/** The argument under the names that sequential workflows use. */
function argumentEnvironment(value: string): Record<string, string> {
  return { ARG: value, ARGUMENT: value, FILE: value, FILE_PATH: value };
}

/** Another machine may have merged the item before its connection to the store was lost. */
async function isMergedElsewhere({ spec, workspace }: WorkflowRuntime, item: LeasedItem): Promise<boolean> {
  if (spec.workflow.map.remote === undefined || item.attempt === 1) return false;
  const merged = await workspace.mergedItems().catch((error: unknown) => {
    if (error instanceof RedriveError) return new Set<string>(); // merging will fail too, or find out
    throw error;
  });
  return merged.has(item.itemId);
}

function iterationVariables({ spec, job }: WorkflowRuntime, item: LeasedItem): Record<string, Json> {
  return { workflow: { name: spec.workflow.name, id: job.id, iteration: item.index + 1 } };
}

/** Continues at the step that was interrupted or failed, and records each step that has ended. */
function progressOf(
  { workspace, jobRuntime, sealer }: WorkflowRuntime,
  { itemId }: LeasedItem,
  { before, variables }: { before: ReadonlySet<string>; variables: Record<string, Json> },
): Pick<RunStepsOptions, "from" | "onDone"> {
  const path = workspace.progressFile ?? join(jobRuntime.logs.folder, "steps.json");
  const { next, captured } = readCheckpoint(path, itemId);
  Object.assign(variables, sealer.unseal(captured));
  return {
    from: next,
    onDone: (index) =>
      writeCheckpoint(path, {
        itemId,
        next: index + 1,
        captured: sealer.seal(variablesToKeep(before, variables)),
      }),
  };
}

const STEP_CHARS_MAX = 300;

/** The progress that `redrive status` shows for a running agent. */
function activityOf(
  step: string,
  { action, usage }: AgentReport,
  mask: (text: string) => string,
): JsonObject {
  const done =
    action && oneLine(mask([action.tool, action.target].filter(Boolean).join(" ")), STEP_CHARS_MAX);
  return activityToJson(compact({ step: oneLine(step, STEP_CHARS_MAX), action: done, usage }));
}

/** An item with its agent and checkout. */
interface AgentWork {
  readonly runtime: WorkflowRuntime;
  readonly item: LeasedItem;
  readonly agentId: string;
  readonly checkout: Checkout;
}

/** Fails the attempt if no worktree can be created. On a full disk the attempt is not counted. */
async function acquire(
  runtime: WorkflowRuntime,
  item: LeasedItem,
  { agentId, signal }: AttemptContext,
): Promise<Checkout | Outcome> {
  try {
    return await runtime.workspace.acquire(item.itemId, item.attempt, runtime.masker.mask(itemName(item)));
  } catch (error) {
    const failure = agentFailure({ runtime, item, agentId }, worktreeFault(error, "worktree"));
    return unlessDiskFull({ kind: "failed", failure }, runtime.jobRuntime.home, signal);
  }
}

type Ended<K extends StepsEnd["kind"]> = Extract<StepsEnd, { kind: K }>;
/** Keeps the checkout before the letter is stored, so that a crash in between cannot lose it. */
async function failed(
  { runtime, item, checkout }: AgentWork,
  { failure, retryAfterMs, isAgent, usage }: Omit<Ended<"failed">, "kind" | "stepIndex">,
): Promise<Outcome> {
  const { stderrTail, stdoutTail, errorMessage, log } = failure;
  const found = keepWorktreesOf(runtime.spec) === "never" ? undefined : await checkout.artifacts();
  const artifacts = found && { ...found, errorLogs: stderrTail || stdoutTail || errorMessage };
  if (artifacts) await checkout.keep(`attempt ${item.attempt} of ${item.itemId} failed`);
  return compact({ kind: "failed" as const, failure, retryAfterMs, isAgent, artifacts, log, usage });
}

/** Merges before the store records the success, so that the job's branch always has the work of done items. */
async function mergeWork(
  work: AgentWork,
  { log, jsonLog, usage }: Ended<"done">,
  captured: Readonly<Record<string, Json>>,
): Promise<Outcome> {
  const merge = await work.checkout.merge().catch((error: unknown) => worktreeFault(error, "merge"));
  const fault = "kind" in merge ? mergeFault(merge) : merge;
  if (fault !== null) {
    const context = ["all steps succeeded", "merge into the job's branch"];
    const failure = agentFailure(work, { ...fault, context, log, jsonLog });
    return failed(work, { failure, ...(usage && { usage }) });
  }
  const mergedCommit = "commit" in merge ? merge.commit : undefined;
  // Steps use the real secrets; stored results must not contain them.
  const masked = parseJson(work.runtime.masker.mask(stringifyJson(captured))) as Record<string, Json>;
  const result = compact({
    ...masked,
    commit: mergedCommit,
    usage: usage && { ...usage },
    json_log: jsonLog,
  });
  return compact({ kind: "succeeded" as const, result: result as Json, log, mergedCommit, usage });
}

function mergeFault(merge: Merge): AgentFault | null {
  if (merge.kind === "conflict") {
    const message = `The agent's commits conflict with the job's branch in ${merge.files.join(", ")}.`;
    const errorType = { name: "MergeConflict", fields: { files: [...merge.files] } } as const;
    return { errorType, message, step: "merge" };
  }
  if (merge.kind !== "refused") return null;
  const message = `The agent's changes could not be committed: ${merge.detail}`;
  return { errorType: { name: "CommitValidationFailed" }, message, step: "merge" };
}

/** Releases the checkout after the attempt is settled, or keeps it for inspection. */
async function releaseCheckout(pool: AgentPool, item: LeasedItem, verdict: Verdict["kind"]): Promise<void> {
  const key = keyOf(item);
  const checkout = pool.checkouts.get(key);
  pool.checkouts.delete(key);
  const mode = keepWorktreesOf(pool.runtime.spec);
  const isLetter = verdict === "bury" || verdict === "stop";
  if (isLetter && mode !== "never") return;
  const isDone = verdict === "done" || verdict === "skip";
  if (isDone && mode === "always") await checkout?.keep(`attempt ${item.attempt} of ${item.itemId} ended`);
  else await checkout?.release();
}

/** Only the end of the run waits for the release. The next runner adopts a checkout that could not be released. */
function releaseInBackground(pool: AgentPool, release: Promise<void>): void {
  const done = release.catch(() => undefined).finally(() => pool.releasing.delete(done));
  pool.releasing.add(done);
}

async function afterAll<T>(pool: AgentPool, action: () => Promise<T>): Promise<T> {
  for (const checkout of pool.checkouts.values()) releaseInBackground(pool, checkout.release());
  pool.checkouts.clear();
  await Promise.all(pool.releasing);
  return action();
}

function keyOf({ ref, attempt }: LeasedItem): string {
  return `${ref}/${attempt}`;
}

interface AgentFault {
  readonly errorType: ErrorType;
  readonly message: string;
  readonly step: string;
  readonly context?: readonly string[];
  readonly log?: string | undefined;
  readonly jsonLog?: string | undefined;
}

const MESSAGE_CHARS_MAX = 600;

function agentFailure({ runtime, item, agentId }: Omit<AgentWork, "checkout">, fault: AgentFault): Failure {
  const now = runtime.jobRuntime.clock.now();
  return compact({
    attemptNumber: item.attempt,
    timestamp: now,
    errorType: fault.errorType,
    errorClass: classOfType(fault.errorType.name),
    errorMessage: runtime.masker.mask(fault.message),
    errorContext: fault.context,
    agentId,
    stepFailed: fault.step,
    durationMs: Math.max(0, now - item.startedAt),
    log: fault.log,
    jsonLogLocation: fault.jsonLog,
  });
}

/** Describes an error of git with its message on one line. Any other error is rethrown. */
function worktreeFault(error: unknown, step: string): AgentFault {
  if (!(error instanceof RedriveError)) throw error;
  return { errorType: { name: "WorktreeError" }, message: oneLine(error.message, MESSAGE_CHARS_MAX), step };
}

/** Runs the steps of `on_item_failure`. Success means handled, exit code 75 means retry, any other failure buries the item. */
async function askSteps(
  runtime: WorkflowRuntime,
  item: LeasedItem,
  failure: Failure,
): Promise<HandlerReport> {
  const context = stepContextOf(runtime, {
    lease: item,
    checkout: runtime.workspace,
    variables: { ...jobVariables(runtime), ...itemVariables(item), error: errorVariable(failure) },
    logPath: handlerLog(runtime.jobRuntime.logs.log(item.itemId, item.attempt)),
    scratch: `${runtime.jobRuntime.scratch}/handler-${item.ref}`,
    signal: runtime.jobRuntime.stop,
    agentId: "handler",
    attempt: item.attempt,
  });
  const end = await runSteps(runtime.spec.workflow.onItemFailureSteps, context);
  if (end.kind === "done") return { answer: "handled" };
  if (end.kind === "stopped") return { answer: "retry" }; // stopped by the runner; it runs again when the job is resumed
  return reportOf(end.failure);
}
