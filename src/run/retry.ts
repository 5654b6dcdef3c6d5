/** `redrive dlq retry` and `dlq fix`: retries letters, or continues a redrive that another process left unfinished. */
import { isDeliverable } from "../delivery/target-settings.ts";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { isStanding, type Job } from "../item/job.ts";
import { leftOf, type Operation } from "../item/operation.ts";
import { requireJob } from "../queue/find-job.ts";
import { hasRunner } from "../queue/job-summary.ts";
import type { FixRule } from "../redrive/fix.ts";
import { applyFixes } from "../redrive/fix.ts";
import { beginSelected, completeSelection, readOperation } from "../redrive/operation.ts";
import { planOf, planToJson, type RedrivePlan, watchPause } from "../redrive/plan.ts";
import type { Selection } from "../redrive/select.ts";
import { sendAhead, sendLetters } from "../redrive/send.ts";
import { WakeSignal } from "../runner/poll-schedule.ts";
import { STORE_WAIT_MS, StoreRetry } from "../runner/store-retry.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";
import type { Finish } from "../workspace/workspace.ts";
import { requireInstalled } from "./require-programs.ts";
import {
  type AskMerge,
  type JobHandler,
  observing,
  type RunDeps,
  requireHandler,
  runJob,
  storeRetryOf,
} from "./run-job.ts";

/** The letters to retry, and how to retry them. */
export interface RetryOptions extends ContinueOptions {
  readonly job: Job;
  readonly selection: Selection;
  readonly author: string;
  /** Includes letters that are not eligible, and skips the wait between redrives. Default false. */
  readonly force?: boolean;
  /** Default: all letters at once, with the job's settings. */
  readonly plan?: RedrivePlan;
  /** Why the letters are retried, stored with the operation. */
  readonly reason?: string | undefined;
}

export interface ContinueOptions {
  /** Called when the letters are selected. */
  readonly onOperation?: (operation: Operation, job: Job) => void;
  /** Called with the result of merging a workflow's commits. Default: unmerged commits are an error. */
  readonly onNotice?: (notice: string) => void;
  /** Called with the result of merging a workflow's commits. Default: commits that could not be merged are an error. */
  readonly onFinish?: (finish: Finish) => void;
  /** Called if the job asks before it merges. Default: the commits stay on their branch. */
  readonly askMerge?: AskMerge;
  /** The handler for the letters of a map over a function of this program. Default: the job's own handler. */
  readonly work?: JobHandler;
}

/** Retries letters. A letter leaves the dead letter queue only when its new attempt has succeeded. */
export async function retryLetters(deps: RunDeps, options: RetryOptions): Promise<Operation> {
  requireHandler(options.job); // before an operation is created
  requireInstalled(options.job);
  return continueRedrive(deps, await beginRetry(deps.engine, options), options);
}

/** Creates the operation and selects its letters, but does not send them. */
export async function beginRetry(engine: Engine, options: RetryOptions): Promise<Operation> {
  const { job, selection, author, force = false, plan = {}, reason } = options;
  const why = reason === undefined ? {} : { reason };
  const request = { queue: job.id, selection, author, force, plan: planToJson(plan), ...why };
  return beginSelected(engine, { kind: "redrive", ...request });
}

/** Continues a redrive to its end. A paused one waits until it is resumed. */
export async function continueRedrive(
  deps: RunDeps,
  begun: Operation,
  { onOperation, onFinish = requireMerged, ...watch }: ContinueOptions = {},
): Promise<Operation> {
  const { engine } = deps;
  const job = await requireJob(engine, begun.queue);
  if (watch.work === undefined) {
    requireHandler(job);
    requireInstalled(job);
  }
  const operation = await completeSelection(engine, begun);
  onOperation?.(operation, job);
  const finish = await workRedrive(deps, { ...watch, job, operation });
  const ended = await readOperation(engine, operation.id);
  onFinish(finish);
  return ended;
}

async function workRedrive(deps: RunDeps, redrive: Redrive): Promise<Finish> {
  const { job, operation } = redrive;
  // If a process was killed after the last letter, only the merge is left to do.
  const isOver = operation.endedAt !== undefined && job.kind !== "workflow";
  if (operation.selected === 0 || isOver) return {};
  if (!isStanding(job)) return runRedrive(deps, redrive);
  if (isDeliverable(job)) {
    // Delivers the receipts in this process. Other processes may deliver at the same time.
    const { redeliver } = await import("./deliver.ts");
    await redeliver(deps, redrive, async (own, work) => void (await runRedrive(own, { ...redrive, work })));
  } else await followRedrive(deps, redrive);
  return {};
}

function requireMerged({ note, isRefused }: Finish): void {
  if (isRefused) throw new RedriveError("git_refused", note ?? "The commits were not merged.");
}

/** Makes the letters ready and returns. A runner of the job, or a process that continues the operation, runs them. */
export async function detachLetters(engine: Engine, options: RetryOptions): Promise<Operation> {
  requireHandler(options.job);
  const begun = await beginRetry(engine, options);
  await sendAhead(begun, engine, new StoreRetry(STORE_WAIT_MS, systemClock));
  return readOperation(engine, begun.id);
}

interface Redrive extends Pick<ContinueOptions, "onNotice" | "askMerge" | "work"> {
  readonly job: Job;
  readonly operation: Operation;
}

async function runRedrive(deps: RunDeps, redrive: Redrive): Promise<Finish> {
  const { job, operation, onNotice, askMerge, work } = redrive;
  const { engine, clock = systemClock } = deps;
  const { slots, maxRetries, canary } = planOf(operation);
  const wake = canary ? new WakeSignal() : undefined;
  const over = new AbortController();
  const sending = { engine, clock, ...(wake && { wake }), ...(onNotice && { onNotice }) };
  const watching = watchPause(operation, { ...sending, signal: over.signal });
  try {
    const { reason, finish = {} } = await runJob(
      // Wakes the canary immediately when a letter that it waits for is settled.
      wake ? { ...deps, observer: observing(deps.observer, { settled: () => wake.notify() }) } : deps,
      {
        job,
        operationId: operation.id,
        feed: (storeRetry, signal) => sendLetters(operation, { ...sending, storeRetry, signal }),
        maxAttempts: maxRetries === undefined ? undefined : maxRetries + 1,
        ...{ work, slots, onNotice, askMerge },
      },
    );
    if (reason !== undefined) onNotice?.(`Stopped: ${reason}.`);
    return finish;
  } finally {
    over.abort();
    await watching;
  }
}

/** A redrive whose letters are run by other processes. */
interface Following {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly storeRetry: StoreRetry;
  readonly job: Job;
  readonly operation: Operation;
  readonly notify: (notice: string) => void;
  /** Aborted when this process stops watching the redrive. */
  readonly over: AbortController;
}

/** Follows a redrive until all its letters have ended, it is stopped, or no worker is left. */
async function followRedrive(deps: RunDeps, { job, operation, onNotice }: Redrive): Promise<void> {
  const { engine, clock = systemClock, stop } = deps;
  const notify = onNotice ?? (() => undefined);
  const over = new AbortController();
  const end = () => over.abort();
  stop.addEventListener("abort", end, { once: true });
  const storeRetry = storeRetryOf(deps);
  const watching = watchPause(operation, { engine, clock, signal: over.signal, onNotice: notify });
  const following = { engine, clock, storeRetry, job, operation, notify, over };
  try {
    if (stop.aborted) return;
    const isWorked = await storeRetry.run(() => hasRunner(engine, operation.queue));
    const ended = isWorked ? await sendAndFollow(following) : "alone";
    if (stop.aborted || ended !== "alone") return;
    if (isWorked) notify(`No worker is running for ${job.id} any more.`);
    await leaveToWorkers(following);
  } finally {
    stop.removeEventListener("abort", end);
    over.abort();
    await watching;
  }
}

const LOOK_MS = 300;

/** The absence of a worker that is being restarted is ignored for this time. */
const AWAY_MS_MAX = 15_000;

type FollowEnd = "ended" | "alone" | "stopped";

async function sendAndFollow(following: Following): Promise<FollowEnd> {
  const sending = sendAll(following);
  sending.catch(() => undefined); // awaited below
  const end = await untilEnded(following);
  following.over.abort();
  await sending;
  return end;
}

/** Polls until the redrive has ended. `alone` means that letters are left, but no worker is running. */
async function untilEnded(following: Following): Promise<FollowEnd> {
  const { engine, clock, storeRetry, job, operation, notify, over } = following;
  let seenAt = clock.now();
  let wasPaused = false;
  while (!over.signal.aborted) {
    const { endedAt } = await storeRetry.run(() => readOperation(engine, operation.id));
    if (endedAt !== undefined) return "ended";
    if (await storeRetry.run(() => hasRunner(engine, operation.queue))) seenAt = clock.now();
    else if (clock.now() - seenAt >= AWAY_MS_MAX) return "alone";
    const isPaused = (await storeRetry.run(() => engine.findJob(job.id)))?.pause !== undefined;
    const command = `redrive ${job.kind === "target" ? "receipts" : "queue"} resume ${job.id}`;
    const notice = `${job.id} is paused, so its workers get no items. Continue with \`${command}\`, or press Ctrl-C to leave the letters waiting.`;
    if (isPaused && !wasPaused) notify(notice);
    wasPaused = isPaused;
    await clock.sleep(LOOK_MS, over.signal);
  }
  return "stopped";
}

async function sendAll({ engine, clock, storeRetry, operation, notify, over }: Following): Promise<void> {
  const { signal } = over;
  try {
    const sending = sendLetters(operation, { engine, storeRetry, clock, signal, onNotice: notify });
    for await (const _ of sending) if (signal.aborted) return;
  } catch (error) {
    over.abort(); // no need to wait for letters that cannot be sent
    throw error;
  }
}

/**
 * If there are no workers, sends all remaining letters. A canary stops sending, because it needs the results
 * of its first letters.
 */
async function leaveToWorkers({ engine, storeRetry, job, operation, notify }: Following): Promise<void> {
  const worker = `redrive worker --queue ${job.id} -- COMMAND`;
  const start = job.kind === "target" ? "the service with the delivery function" : worker;
  const none = `No worker is running for ${job.id}`;
  if (planOf(operation).canary) {
    const resume = `Start one (${start}), then continue: redrive ops resume ${operation.id}`;
    notify(
      `${none}, and a canary waits for the outcome of its first letters. No more letters are sent. ${resume}`,
    );
    return;
  }
  const now = (await storeRetry.run(() => engine.findOperation(operation.id))) ?? operation;
  await sendAhead(now, engine, storeRetry);
  notify(`${none}. The letters are ready, and the next worker will run them. Start one: ${start}`);
}

export interface FixLettersOptions extends ContinueOptions {
  readonly job: Job;
  readonly rules: readonly FixRule[];
  readonly within: Selection;
  readonly author: string;
}

/** The changes made by one rule, and how the retries ended. */
export interface FixOutcome {
  readonly rule: string;
  readonly edit: Operation;
  readonly redrive?: Operation;
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
}

/** Makes a single pass. A letter that fails again can be fixed by the next call. */
export async function fixLetters(deps: RunDeps, options: FixLettersOptions): Promise<readonly FixOutcome[]> {
  const { job, rules, within, author, ...watch } = options;
  requireHandler(job);
  const request = { queue: job.id, rules, within, author, signal: deps.stop };
  const outcomes: FixOutcome[] = [];
  for (const { rule, edit, redrive } of await applyFixes(deps.engine, request)) {
    const refusals = await deps.engine.listRefusals(edit.id);
    const ran = redrive && (await continueRedrive(deps, redrive, watch));
    outcomes.push({ rule, edit, refusals, ...(ran && { redrive: ran }) });
  }
  return outcomes;
}

/** Totals per rule and overall. `selected` counts matching letters, `refused` those that a rule or the redrive refused. */
export function fixesToJson(jobId: string, outcomes: readonly FixOutcome[]): JsonObject {
  const fixes = outcomes.map(outcomeToJson);
  const totals = TOTALS.map((key) => [key, fixes.reduce((total, one) => total + one[key], 0)]);
  return {
    operation_id: fixes.length === 1 ? (fixes[0]?.operation_id ?? null) : null,
    job_id: jobId,
    ...Object.fromEntries(totals),
    fixes: fixes.map((one) => ({ ...one, refusals: one.refusals.map((refusal) => ({ ...refusal })) })),
  };
}

const TOTALS = ["selected", "changed", "refused", "redriven", "succeeded", "failed", "remaining"] as const;

function outcomeToJson({ rule, edit, redrive, refusals }: FixOutcome) {
  return {
    rule,
    edit_id: edit.id,
    operation_id: redrive?.id ?? null,
    selected: edit.selected,
    changed: edit.done,
    refused: edit.refused + (redrive?.refused ?? 0),
    redriven: redrive?.done ?? 0,
    succeeded: redrive?.succeeded ?? 0,
    failed: redrive?.failed ?? 0,
    remaining: leftOf(edit) + (redrive ? leftOf(redrive) : 0),
    refusals,
  };
}
