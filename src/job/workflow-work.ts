/** The work of a workflow's map phase: for each item an agent, its steps in a place of their own, then the merge. */
import type { AttemptContext } from "../attempt/handler.ts";
import { isStoreTrouble, WorkError } from "../errors.ts";
import type { ErrorType } from "../item/error-type.ts";
import { compact, type Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import { itemName } from "../item/item-name.ts";
import type { Job } from "../item/job.ts";
import type { Outcome } from "../item/outcome.ts";
import type { Json } from "../kit/json.ts";
import type { HandlerAnswer } from "../retry/decide.ts";
import { errorVariable } from "../workflow/error-variable.ts";
import { runSteps } from "../workflow/run-steps.ts";
import type { StepsEnd } from "../workflow/world.ts";
import type { Place } from "./site.ts";
import type { Work, Workshop } from "./work.ts";
import { capturedSince, jobVariables, openWorkflowKit, type WorkflowKit, worldOf } from "./workflow-kit.ts";
import { workflowProgressOf } from "./workflow-spec.ts";

/** For a redrive, which has no phases around it. */
export async function openWorkflowWork(job: Job, workshop: Workshop): Promise<Work> {
  const kit = await openWorkflowKit(job, workshop);
  return agentWork(kit, { close: () => kit.site.close(), finish: () => finishRedrive(kit) });
}

/** A job that has not ended merges at its own end. */
async function finishRedrive({ job, site }: WorkflowKit): Promise<string | undefined> {
  if (workflowProgressOf(job).phase !== "ended") return undefined;
  const { note } = await site.finish();
  await site.tidy();
  return note;
}

/** Told what each agent does, for the screen. */
export type OnAgentStep = (item: LeasedItem, index: number, total: number, label: string) => void;

export async function agentWork(
  kit: WorkflowKit,
  options: Pick<Work, "close" | "finish"> & { readonly onStep?: OnAgentStep },
): Promise<Work> {
  const crew: Crew = {
    kit,
    merged: await kit.site.mergedItems(),
    places: new Map(),
    leaving: new Set(),
    ...(options.onStep && { onStep: options.onStep }),
  };
  return {
    handler: (item, context) => runAgent(crew, item, context),
    policy: kit.spec.workflow.policy,
    slots: kit.spec.workflow.map.maxParallel,
    askHandler: (item, failure) => askSteps(crew, item, failure),
    settled: (item, { verdict }) =>
      letGo(crew, giveBack(crew, item, verdict.kind === "bury" || verdict.kind === "stop")),
    ...(options.finish && { finish: () => afterAll(crew, options.finish) }),
    close: () => afterAll(crew, options.close),
  };
}

interface Crew {
  readonly kit: WorkflowKit;
  /** Items whose work was merged by an attempt that could not say so any more. */
  readonly merged: ReadonlySet<string>;
  /** The places of attempts that have ended and are not settled, by `ref/attempt`. */
  readonly places: Map<string, Place>;
  /** Those that are just being given back. */
  readonly leaving: Set<Promise<void>>;
  readonly onStep?: OnAgentStep;
}

async function runAgent(crew: Crew, item: LeasedItem, context: AttemptContext): Promise<Outcome> {
  const { kit } = crew;
  if (crew.merged.has(item.itemId)) return { kind: "succeeded", result: { already_merged: true } };
  const place = await enter(kit, item);
  if ("kind" in place) return place;
  crew.places.set(keyOf(item), place);
  if (place.head) await tellOfPlace(kit, item, place);
  const variables: Record<string, Json> = { ...jobVariables(kit), ...itemVariables(item) };
  const world = worldOf(kit, {
    root: place.root,
    ...(place.head && { head: place.head }),
    variables,
    logPath: kit.workshop.logs.log(item.itemId, item.attempt),
    scratch: `${kit.workshop.scratch}/${context.slot}`,
    signal: context.signal,
    mayStart: context.mayStart,
    agentId: context.agentId,
    attempt: item.attempt,
    onStep: (index, total, label) => crew.onStep?.(item, index, total, label),
  });
  const before = new Set(Object.keys(variables));
  const { steps, agentTimeoutMs } = kit.spec.workflow.map;
  const limit = agentTimeoutMs === undefined ? {} : { timeoutMs: agentTimeoutMs };
  const end = await runSteps(steps, world, limit);
  if (end.kind === "stopped") return released(crew, item, end.why ?? "the runner stopped");
  if (end.kind === "failed") return failed(place, item, end);
  const captured = capturedSince(before, variables);
  return deliver({ kit, item, context, place, end, captured });
}

function itemVariables(item: LeasedItem): Record<string, Json> {
  return { item: item.data, item_id: item.itemId, index: item.index };
}

/** A place that cannot be made is not the item's fault. */
async function enter(kit: WorkflowKit, item: LeasedItem): Promise<Place | Outcome> {
  try {
    return await kit.site.enter(item.itemId, item.attempt, kit.masker.mask(itemName(item)));
  } catch (error) {
    if (!(error instanceof WorkError)) throw error;
    return { kind: "released", why: error.message };
  }
}

/** A store that cannot be written now is met by the runner too, which waits for it. */
async function tellOfPlace({ workshop }: WorkflowKit, item: LeasedItem, place: Place): Promise<void> {
  const data = { item_id: item.itemId, worktree_path: place.root };
  await workshop.tell("worktree_created", data).catch((error: unknown) => {
    if (!isStoreTrouble(error)) throw error;
  });
}

async function released(crew: Crew, item: LeasedItem, why: string): Promise<Outcome> {
  await giveBack(crew, item, false);
  return { kind: "released", why };
}

type Failed = Extract<StepsEnd, { kind: "failed" }>;

/** Kept before the store knows of a letter, so that a crash in between cannot take the place away. */
async function failed(
  place: Place,
  item: LeasedItem,
  { failure, retryAfterMs }: Omit<Failed, "kind" | "stepIndex">,
): Promise<Outcome> {
  const artifacts = await place.artifacts();
  await place.keep(`attempt ${item.attempt} of ${item.itemId} failed`);
  return compact({ kind: "failed" as const, failure, retryAfterMs, artifacts, log: failure.log });
}

interface Delivery {
  readonly kit: WorkflowKit;
  readonly item: LeasedItem;
  readonly context: AttemptContext;
  readonly place: Place;
  readonly end: Extract<StepsEnd, { kind: "done" }>;
  readonly captured: Readonly<Record<string, Json>>;
}

/** Git first: the work is in the job's branch before the store calls it done. */
async function deliver(delivery: Delivery): Promise<Outcome> {
  const { item, place, end, captured } = delivery;
  const merge = await place.merge();
  if (merge.kind === "conflict") {
    const message = `The agent's commits conflict with the job's branch in ${merge.files.join(", ")}.`;
    const type = { name: "MergeConflict", fields: { files: [...merge.files] } } as const;
    return failed(place, item, { failure: mergeFailure(delivery, type, message) });
  }
  if (merge.kind === "refused") {
    const message = `The agent's changes could not be committed: ${merge.detail}`;
    return failed(place, item, {
      failure: mergeFailure(delivery, { name: "CommitValidationFailed" }, message),
    });
  }
  const result = compact({
    ...maskValues(captured, delivery.kit),
    commit: merge.kind === "merged" ? merge.commit : undefined,
    usage: end.usage && { ...end.usage },
    json_log: end.jsonLog,
  });
  const mergedCommit = merge.kind === "merged" ? merge.commit : undefined;
  return compact({ kind: "succeeded" as const, result: result as Json, log: end.log, mergedCommit });
}

/** Steps need secrets as they are; what is stored has none. */
function maskValues(captured: Readonly<Record<string, Json>>, { masker }: WorkflowKit): Record<string, Json> {
  return JSON.parse(masker.mask(JSON.stringify(captured))) as Record<string, Json>;
}

function mergeFailure({ kit, item, context, end }: Delivery, errorType: ErrorType, message: string): Failure {
  const now = kit.workshop.clock.now();
  return compact({
    attemptNumber: item.attempt,
    timestamp: now,
    errorType,
    errorClass: "unknown" as const,
    errorMessage: kit.masker.mask(message),
    errorContext: ["all steps succeeded", "merge into the job's branch"],
    agentId: context.agentId,
    stepFailed: "merge",
    durationMs: Math.max(0, now - item.startedAt),
    log: end.log,
    jsonLogLocation: end.jsonLog,
  });
}

/** Once the store has the end of an attempt, its place is free, or stays for the letter. */
async function giveBack(crew: Crew, item: LeasedItem, isLetter: boolean): Promise<void> {
  const key = keyOf(item);
  const place = crew.places.get(key);
  crew.places.delete(key);
  if (!isLetter) await place?.leave();
}

/** Nobody waits for it but the end. A place that cannot be given back is found by the next runner. */
function letGo(crew: Crew, leaving: Promise<void>): void {
  const left = leaving.catch(() => undefined).finally(() => crew.leaving.delete(left));
  crew.leaving.add(left);
}

async function afterAll<T>(crew: Crew, action: (() => Promise<T>) | undefined): Promise<T | undefined> {
  for (const place of crew.places.values()) letGo(crew, place.leave());
  crew.places.clear();
  await Promise.all(crew.leaving);
  return action?.();
}

function keyOf({ ref, attempt }: LeasedItem): string {
  return `${ref}/${attempt}`;
}

/** The steps of `on_item_failure: custom`: success is handled, exit code 75 is retry, all else dlq. */
async function askSteps(crew: Crew, item: LeasedItem, failure: Failure): Promise<HandlerAnswer> {
  const { kit } = crew;
  const steps = kit.spec.workflow.onItemFailureSteps;
  const error = errorVariable(failure);
  const world = worldOf(kit, {
    root: kit.site.root,
    ...(kit.site.head && { head: kit.site.head }),
    variables: { ...jobVariables(kit), ...itemVariables(item), error },
    logPath: kit.workshop.logs.log(item.itemId, item.attempt).replace(/\.log$/, ".handler.log"),
    scratch: `${kit.workshop.scratch}/handler-${item.ref}`,
    signal: kit.workshop.stop,
    agentId: "handler",
    attempt: item.attempt,
  });
  const end = await runSteps(steps, world);
  if (end.kind === "done") return "handled";
  if (end.kind === "stopped") return "retry"; // it could not say; it is asked again when the job goes on
  return end.failure.exitCode === RETRY_EXIT_CODE ? "retry" : "dlq";
}

/** EX_TEMPFAIL of sysexits.h. */
const RETRY_EXIT_CODE = 75;
