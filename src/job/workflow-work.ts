/** The work of a workflow's map phase: for each item an agent, its steps in a place of their own, then the merge. */
import { unlessDiskFull } from "../attempt/disk-room.ts";
import type { AttemptContext } from "../attempt/handler.ts";
import { isStoreTrouble, WorkError } from "../errors.ts";
import { compact } from "../item/failure.ts";
import type { LeasedItem, Verdict } from "../item/item.ts";
import { itemName } from "../item/item-name.ts";
import type { Job } from "../item/job.ts";
import type { Outcome } from "../item/outcome.ts";
import type { Json } from "../kit/json.ts";
import { runSteps } from "../workflow/run-steps.ts";
import type { StepsEnd } from "../workflow/world.ts";
import { type AgentFault, agentFailure, withErrorLogs, worktreeFault } from "./agent-failure.ts";
import { askSteps } from "./failure-steps.ts";
import type { Finish, Merge, Place } from "./site.ts";
import type { RedriveEnd, Work, Workshop } from "./work.ts";
import {
  capturedSince,
  itemVariables,
  jobVariables,
  openWorkflowKit,
  type WorkflowKit,
  worldOf,
} from "./workflow-kit.ts";
import { keepWorktreesOf } from "./workflow-spec.ts";

/** For a redrive, which has no phases around it. */
export async function openWorkflowWork(job: Job, workshop: Workshop): Promise<Work> {
  const kit = await openWorkflowKit(job, workshop);
  return agentWork(kit, { close: () => kit.site.close(), finish: (redrive) => finishRedrive(kit, redrive) });
}

/** A job that has not completed merges at its own end; until then its work waits in its branch. */
async function finishRedrive({ job, site }: WorkflowKit, redrive: RedriveEnd): Promise<Finish> {
  const { end, status, askMerge } = redrive;
  if (end !== "interrupted" && status === "completed") {
    const finish = await site.finish();
    const isAgreed = finish.question !== undefined && ((await askMerge?.(finish.question)) ?? false);
    const merged = isAgreed ? await site.finish("merge") : finish;
    await site.tidy();
    return merged;
  }
  const { branch } = await site.finish("leave");
  if (branch === undefined) return {};
  const work = `The work is in the branch ${branch} and not merged:`;
  const note =
    status === "completed"
      ? `${work} the retry was interrupted. To merge it: redrive resume ${job.id} --no-dlq`
      : status === "running"
        ? `${work} another process is running the job ${job.id} and merges at its end. Follow it: redrive status ${job.id} --watch`
        : `${work} the job ${job.id} is ${status}. Finish it: redrive resume ${job.id}`;
  return { note, branch, isRefused: true };
}

/** Told what each agent does, for the screen. */
export type OnAgentStep = (item: LeasedItem, index: number, total: number, label: string) => void;

export async function agentWork(
  kit: WorkflowKit,
  options: Pick<Work, "close" | "finish"> & { readonly onStep?: OnAgentStep },
): Promise<Work> {
  const { finish } = options;
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
    askHandler: (item, failure) => askSteps(kit, item, failure),
    settled: (item, { verdict }) => letGo(crew, giveBack(crew, item, verdict.kind)),
    ...(finish && { finish: (redrive) => afterAll(crew, () => finish(redrive)) }),
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
  const place = await enter(kit, item, context);
  if ("kind" in place) return place;
  crew.places.set(keyOf(item), place);
  const agentId = place.name ?? context.agentId;
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
    agentId,
    attempt: item.attempt,
    onStep: (index, total, label) => crew.onStep?.(item, index, total, label),
  });
  const before = new Set(Object.keys(variables));
  const { steps, agentTimeoutMs } = kit.spec.workflow.map;
  const limit = agentTimeoutMs === undefined ? {} : { timeoutMs: agentTimeoutMs };
  const end = await runSteps(steps, world, limit);
  if (end.kind === "stopped") return released(crew, item, end.why ?? "the runner stopped");
  if (end.kind === "failed") return failed(kit, place, item, end);
  const captured = capturedSince(before, variables);
  return deliver({ kit, item, agentId, place, end, captured });
}

/** Nothing can run without a worktree: the attempt failed. On a full disk it is not counted. */
async function enter(kit: WorkflowKit, item: LeasedItem, context: AttemptContext): Promise<Place | Outcome> {
  try {
    return await kit.site.enter(item.itemId, item.attempt, kit.masker.mask(itemName(item)));
  } catch (error) {
    if (!(error instanceof WorkError)) throw error;
    const failure = agentFailure({ kit, item, agentId: context.agentId }, worktreeFault(error, "worktree"));
    return unlessDiskFull({ kind: "failed", failure }, kit.workshop.home, context.signal);
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
  await giveBack(crew, item, "release");
  return { kind: "released", why };
}

type Failed = Extract<StepsEnd, { kind: "failed" }>;

/** Kept before the store knows of a letter, so that a crash in between cannot take the place away. */
async function failed(
  kit: WorkflowKit,
  place: Place,
  item: LeasedItem,
  { failure, retryAfterMs, isAgent }: Omit<Failed, "kind" | "stepIndex">,
): Promise<Outcome> {
  const found = keepWorktreesOf(kit.spec) === "never" ? undefined : await place.artifacts();
  const artifacts = found && withErrorLogs(found, failure);
  if (artifacts) await place.keep(`attempt ${item.attempt} of ${item.itemId} failed`);
  const { log } = failure;
  return compact({ kind: "failed" as const, failure, retryAfterMs, isAgent, artifacts, log });
}

interface Delivery {
  readonly kit: WorkflowKit;
  readonly item: LeasedItem;
  readonly agentId: string;
  readonly place: Place;
  readonly end: Extract<StepsEnd, { kind: "done" }>;
  readonly captured: Readonly<Record<string, Json>>;
}

/** Git first: the work is in the job's branch before the store calls it done. */
async function deliver(delivery: Delivery): Promise<Outcome> {
  const { kit, item, place, end, captured } = delivery;
  const merge = await mergeOrFault(place);
  const fault = faultOf(merge);
  if (fault !== null) {
    const after = { context: ["all steps succeeded", "merge into the job's branch"] };
    const logs = { log: end.log, jsonLog: end.jsonLog };
    return failed(kit, place, item, { failure: agentFailure(delivery, { ...fault, ...after, ...logs }) });
  }
  const result = compact({
    ...maskValues(captured, kit),
    commit: merge.kind === "merged" ? merge.commit : undefined,
    usage: end.usage && { ...end.usage },
    json_log: end.jsonLog,
  });
  const mergedCommit = merge.kind === "merged" ? merge.commit : undefined;
  return compact({ kind: "succeeded" as const, result: result as Json, log: end.log, mergedCommit });
}

type MergeOrFault = Merge | { readonly kind: "fault"; readonly error: WorkError };

async function mergeOrFault(place: Place): Promise<MergeOrFault> {
  try {
    return await place.merge();
  } catch (error) {
    if (error instanceof WorkError) return { kind: "fault", error };
    throw error;
  }
}

function faultOf(merge: MergeOrFault): AgentFault | null {
  if (merge.kind === "fault") return worktreeFault(merge.error, "merge");
  if (merge.kind === "conflict") {
    const message = `The agent's commits conflict with the job's branch in ${merge.files.join(", ")}.`;
    const errorType = { name: "MergeConflict", fields: { files: [...merge.files] } } as const;
    return { errorType, message, step: "merge" };
  }
  if (merge.kind === "refused") {
    const message = `The agent's changes could not be committed: ${merge.detail}`;
    return { errorType: { name: "CommitValidationFailed" }, message, step: "merge" };
  }
  return null;
}

/** Steps need secrets as they are; what is stored has none. */
function maskValues(captured: Readonly<Record<string, Json>>, { masker }: WorkflowKit): Record<string, Json> {
  return JSON.parse(masker.mask(JSON.stringify(captured))) as Record<string, Json>;
}

/** Once the store has the end of an attempt, its place is free, or stays for a person. */
async function giveBack(crew: Crew, item: LeasedItem, verdict: Verdict["kind"]): Promise<void> {
  const key = keyOf(item);
  const place = crew.places.get(key);
  crew.places.delete(key);
  const mode = keepWorktreesOf(crew.kit.spec);
  const isLetter = verdict === "bury" || verdict === "stop";
  if (isLetter && mode !== "never") return;
  const isDone = verdict === "done" || verdict === "skip";
  if (isDone && mode === "always") await place?.keep(`attempt ${item.attempt} of ${item.itemId} ended`);
  else await place?.leave();
}

/** Nobody waits for it but the end. A place that cannot be given back is found by the next runner. */
function letGo(crew: Crew, leaving: Promise<void>): void {
  const left = leaving.catch(() => undefined).finally(() => crew.leaving.delete(left));
  crew.leaving.add(left);
}

async function afterAll<T>(crew: Crew, action: () => Promise<T>): Promise<T> {
  for (const place of crew.places.values()) letGo(crew, place.leave());
  crew.places.clear();
  await Promise.all(crew.leaving);
  return action();
}

function keyOf({ ref, attempt }: LeasedItem): string {
  return `${ref}/${attempt}`;
}
