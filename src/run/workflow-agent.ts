/** The handler of a workflow's map phase: runs an item's steps in a checkout, then merges its commits into the job's branch. */

import { join } from "node:path";
import type { AgentReport } from "../agent/agent-record.ts";
import { unlessDiskFull } from "../attempt/capture.ts";
import { handlerLog, reportOf } from "../attempt/command.ts";
import type { AttemptContext } from "../attempt/handler.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import { activityToJson, VERIFY_STEP } from "../item/agent-activity.ts";
import type { Failure } from "../item/failure.ts";
import { itemName, type LeasedItem, type Verdict } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Outcome } from "../item/settlement.ts";
import type { HandlerReport } from "../retry/decide.ts";
import { asText, compact, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import { type RunStepsOptions, runSteps } from "../workflow/run-steps.ts";
import { errorVariable } from "../workflow/step-variables.ts";
import { keepWorktreesOf } from "../workflow/workflow-spec.ts";
import type { MergedItems } from "../workspace/merge-queue.ts";
import type { Checkout, Finish } from "../workspace/workspace.ts";
import { agentFailure, failed, worktreeFault } from "./agent-work.ts";
import { continuesSessions, readEarlier } from "./earlier-attempts.ts";
import { doneWorkFromJson, mergeDone, mergeWork, workToJson } from "./merge-work.ts";
import { resolveConflict } from "./resolve-conflict.ts";
import type { JobHandler, JobRuntime, RedriveEnd } from "./run-job.ts";
import { readCheckpoint, variablesToKeep, writeCheckpoint } from "./step-checkpoint.ts";
import { type VerifiedWork, Verifier } from "./verify.ts";
import {
  capturedSince,
  closeRuntime,
  itemVariables,
  jobVariables,
  openWorkflowRuntime,
  stepContextOf,
  type WorkflowRuntime,
  workflowVariable,
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
  options: Pick<JobHandler, "close" | "finish"> & {
    readonly onStep?: OnAgentStep | undefined;
    /** The tip of the job's branch, if it has just passed `verify`. */
    readonly verified?: string | undefined;
  },
): Promise<JobHandler> {
  const { finish, onStep } = options;
  const merged = await runtime.workspace.mergedItems();
  const continues = continuesSessions(runtime.spec.workflow.map.steps);
  const verifier = Verifier.open(runtime, options.verified);
  const pool: AgentPool = {
    ...{ runtime, merged, verifier, onStep, continues },
    ...{ checkouts: new Map(), releasing: new Set() },
  };
  return {
    handler: (item, context) => runAgent(pool, item, context),
    waitingMax: verifier?.waitingMax,
    policy: runtime.spec.workflow.policy,
    slots: runtime.spec.workflow.map.maxParallel,
    stopReason: () => runtime.agentRuns.stopReason ?? verifier?.stopReason,
    askHandler: (item, failure) => askSteps(runtime, item, failure),
    settled: (item, { verdict }) => releaseInBackground(pool, releaseCheckout(pool, item, verdict.kind)),
    ...(finish && { finish: (redrive) => afterAll(pool, () => finish(redrive)) }),
    close: () => afterAll(pool, options.close),
  };
}

interface AgentPool {
  readonly runtime: WorkflowRuntime;
  /** Items of earlier attempts that were merged but whose success was not recorded in the store. */
  readonly merged: MergedItems;
  readonly verifier: Verifier | undefined;
  /** The checkouts of attempts that are not settled yet, by `ref/attempt`. */
  readonly checkouts: Map<string, Checkout>;
  readonly releasing: Set<Promise<void>>;
  readonly onStep: OnAgentStep | undefined;
  /** Whether retries continue the sessions of agents, in the worktree of the previous attempt. */
  readonly continues: boolean;
}

async function runAgent(pool: AgentPool, item: LeasedItem, attempt: AttemptContext): Promise<Outcome> {
  const { runtime } = pool;
  const merged = pool.merged.get(item.itemId) ?? (await mergedElsewhere(runtime, item));
  if (merged !== undefined) {
    const work = await runtime.workspace.mergeOf(merged);
    return {
      kind: "succeeded",
      result: { already_merged: true, ...keptResult(pool, item), ...workToJson(work) },
    };
  }
  const verified = pool.verifier?.begin(attempt, () => {
    const total = runtime.spec.workflow.map.steps.length + 1;
    pool.onStep?.(item, total - 1, total, VERIFY_STEP);
    attempt.progress(activityToJson({ step: VERIFY_STEP }));
  });
  const turn = { attempt, verified };
  try {
    const ended = await (continueWaiting(pool, item, turn) ?? runItem(pool, item, turn));
    if (ended.kind === "released") await releaseCheckout(pool, item, "release");
    return ended;
  } finally {
    turn.verified?.end();
  }
}

/** The results of a merged item's steps, if its worktree is still waiting because the runner was killed. */
function keptResult(pool: AgentPool, item: LeasedItem): JsonObject {
  const found = pool.runtime.workspace.takeWaiting?.(item.itemId, "");
  if (!found) return {};
  releaseInBackground(pool, found.checkout.release());
  return doneWorkFromJson(found.result, item)?.result ?? {};
}

interface Turn {
  readonly attempt: AttemptContext;
  /** Present if the work of items is verified. */
  readonly verified: VerifiedWork | undefined;
}

/**
 * Merges the work of an earlier attempt that ended while waiting for `verify`. Returns undefined if there is
 * none.
 */
function continueWaiting(
  pool: AgentPool,
  item: LeasedItem,
  { attempt, verified }: Turn,
): Promise<Outcome> | undefined {
  const { runtime } = pool;
  const found = runtime.workspace.takeWaiting?.(item.itemId, runtime.masker.mask(itemName(item)));
  if (!found) return undefined;
  const { checkout } = found;
  const done = doneWorkFromJson(found.result, item);
  if (done === undefined) {
    releaseInBackground(pool, checkout.release()); // the item's data has changed in the meantime
    return undefined;
  }
  pool.checkouts.set(keyOf(item), checkout);
  return mergeDone({ runtime, item, agentId: checkout.name ?? attempt.agentId, checkout, verified }, done);
}

async function runItem(pool: AgentPool, item: LeasedItem, { attempt, verified }: Turn): Promise<Outcome> {
  const { runtime } = pool;
  const { logs, scratch } = runtime.jobRuntime;
  const { steps, agentTimeoutMs, isSequential } = runtime.spec.workflow.map;
  const earlier = await earlierOf(pool, item);
  if (earlier === "unreadable") return { kind: "released", why: "the store could not be read" };
  const isAgain = earlier !== undefined;
  const checkout = isSequential ? runtime.workspace.own() : await acquire(pool, item, { attempt, isAgain });
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
    earlier: earlier && checkout.isContinued === false ? { ...earlier, areLost: true } : earlier,
    onStep: (index, total, label) => {
      step = `step ${index + 1} of ${total}: ${label}`;
      pool.onStep?.(item, index, total, label);
    },
    onAgent: (report) => attempt.progress(activityOf(step, report, runtime.masker.mask)),
  });
  const end = await runSteps(steps, context, { timeoutMs: agentTimeoutMs, ...progress });
  if (end.kind === "stopped")
    return compact({ kind: "released" as const, why: end.why ?? "the runner stopped", usage: end.usage });
  const { onConflict } = runtime.spec.workflow.itemMerge ?? {};
  const resolving = onConflict && { steps: onConflict, timeoutMs: agentTimeoutMs };
  const resolve = resolving && (() => resolveConflict(checkout, context, resolving));
  const work = { runtime, item, agentId, checkout, verified, resolve };
  if (end.kind === "failed") return failed(work, end);
  return mergeWork(work, end, {
    variables,
    captured: { ...lastOutput(runtime, variables), ...capturedSince(before, variables) },
  });
}

const OUTPUT_CHARS_MAX = 64 * 1024;

/** The output of the last step is kept only if a later phase reads results. */
function lastOutput({ spec }: WorkflowRuntime, { last }: Record<string, Json>): Record<string, Json> {
  const { reduce, merge } = spec.workflow;
  if (!JSON.stringify([reduce, merge]).includes("map.results")) return {};
  const output = isJsonObject(last) ? last.output : undefined;
  return typeof output === "string" && output !== "" ? { output: output.slice(-OUTPUT_CHARS_MAX) } : {};
}

/** Passes the argument under the names that sequential workflows use. */
function argumentEnvironment(value: string): Record<string, string> {
  return { ARG: value, ARGUMENT: value, FILE: value, FILE_PATH: value };
}

/** Checks whether another machine merged the item before it lost the connection to the store. */
async function mergedElsewhere(
  { spec, workspace }: WorkflowRuntime,
  item: LeasedItem,
): Promise<string | undefined> {
  if (spec.workflow.map.remote === undefined || item.attempt === 1) return undefined;
  const merged = await workspace.mergedItems().catch((error: unknown) => {
    if (error instanceof RedriveError) return new Map<string, string>(); // in that case merging either fails too or detects it
    throw error;
  });
  return merged.get(item.itemId);
}

function iterationVariables(runtime: WorkflowRuntime, item: LeasedItem): Record<string, Json> {
  return { workflow: workflowVariable(runtime, item.index + 1) };
}

/** Continues at the interrupted or failed step, and records each completed step. */
function progressOf(
  { workspace, jobRuntime, sealer, spec }: WorkflowRuntime,
  { itemId, index }: LeasedItem,
  { before, variables }: { before: ReadonlySet<string>; variables: Record<string, Json> },
): Pick<RunStepsOptions, "from" | "onDone"> {
  const path = workspace.progressFile ?? join(jobRuntime.logs.folder, "steps.json");
  const startAt = index === 0 ? spec.workflow.map.startAt : undefined;
  const { next, captured } = readCheckpoint(path, itemId, startAt);
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

/** Fails the attempt if no worktree can be created. On a full disk the attempt is not counted. */
async function acquire(
  { runtime, continues }: AgentPool,
  item: LeasedItem,
  { attempt: { agentId, signal }, isAgain }: { attempt: AttemptContext; isAgain: boolean },
): Promise<Checkout | Outcome> {
  try {
    const { workspace } = runtime;
    const name = runtime.masker.mask(itemName(item));
    if (isAgain) return await workspace.acquireAgain(item.itemId, item.attempt, name);
    if (continues && item.attempt > 1) await workspace.dropKept(item.itemId, item.attempt);
    return await workspace.acquire(item.itemId, item.attempt, name);
  } catch (error) {
    const failure = agentFailure({ runtime, item, agentId }, worktreeFault(error, "worktree"));
    return unlessDiskFull({ kind: "failed", failure }, runtime.jobRuntime.home, () => signal);
  }
}

/** What the agents of a retry can continue. `unreadable` means that the store does not answer. */
async function earlierOf({ runtime, continues }: AgentPool, item: LeasedItem) {
  if (!continues || item.attempt === 1) return undefined;
  const { job, workspace, jobRuntime } = runtime;
  try {
    return await readEarlier(jobRuntime.engine, job.id, item, workspace.branches?.source);
  } catch (error) {
    if (isStoreTrouble(error)) return "unreadable" as const; // the runner itself waits until the store answers
    throw error;
  }
}

/** Releases the checkout after the attempt has been settled, or keeps it for inspection. */
async function releaseCheckout(pool: AgentPool, item: LeasedItem, verdict: Verdict["kind"]): Promise<void> {
  const key = keyOf(item);
  const checkout = pool.checkouts.get(key);
  pool.checkouts.delete(key);
  const mode = keepWorktreesOf(pool.runtime.spec);
  const isLetter = verdict === "bury" || verdict === "stop";
  if (isLetter && mode !== "never") return;
  const isDone = verdict === "done" || verdict === "skip";
  const isContinued = pool.continues && (verdict === "retry" || verdict === "park" || verdict === "release");
  if (isContinued) await checkout?.keep(`attempt ${item.attempt} of ${item.itemId} is continued`);
  else if (isDone && mode === "always")
    await checkout?.keep(`attempt ${item.attempt} of ${item.itemId} ended`);
  else await checkout?.release();
}

/** Only the end of the run waits for the release. The next runner adopts a checkout that could not be released. */
function releaseInBackground(pool: AgentPool, release: Promise<void>): void {
  const done = release.catch(() => undefined).finally(() => pool.releasing.delete(done));
  pool.releasing.add(done);
}

async function afterAll<T>(pool: AgentPool, action: () => Promise<T>): Promise<T> {
  for (const checkout of pool.checkouts.values())
    releaseInBackground(pool, pool.continues ? checkout.keep("it is continued") : checkout.release());
  pool.checkouts.clear();
  await Promise.all(pool.releasing);
  return action();
}

function keyOf({ ref, attempt }: LeasedItem): string {
  return `${ref}/${attempt}`;
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
