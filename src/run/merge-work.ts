/** Merges the work of an item whose steps have succeeded, before the store records the success. */
import { type AgentUsage, addUsage } from "../item/agent-usage.ts";
import { classOfType } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import {
  compact,
  isJsonObject,
  type Json,
  type JsonObject,
  parseJson,
  reader,
  stringifyJson,
} from "../std/json.ts";
import { expand, isUsageError, naming } from "../workflow/variables.ts";
import type { Merge, MergedWork } from "../workspace/workspace.ts";
import {
  type AgentFault,
  type AgentWork,
  agentFailure,
  type Ended,
  failed,
  worktreeFault,
} from "./agent-work.ts";
import { ROUNDS_MAX } from "./resolve-conflict.ts";
import { appendOutput } from "./verify.ts";
import type { WorkflowRuntime } from "./workflow-runtime.ts";

interface Results {
  /** All variables, for the commit message. */
  readonly variables: Readonly<Record<string, Json>>;
  readonly captured: Readonly<Record<string, Json>>;
}

/** The results of an item's steps. */
interface DoneWork {
  readonly result: JsonObject;
  /** The commit message, if the workflow defines one. */
  readonly message?: string | undefined;
  readonly log?: string | undefined;
  readonly jsonLog?: string | undefined;
  readonly usage?: AgentUsage | undefined;
}

export async function mergeWork(
  work: AgentWork,
  { log, jsonLog, usage }: Ended<"done">,
  { variables, captured }: Results,
): Promise<Outcome> {
  const { masker } = work.runtime;
  // Steps use the real secrets; stored results must not contain them.
  const masked = parseJson(masker.mask(stringifyJson(captured))) as Record<string, Json>;
  const result = compact({ ...masked, usage: usage && { ...usage }, json_log: jsonLog }) as JsonObject;
  const message = messageFrom(work.runtime, variables);
  if (typeof message === "object") return mergeFailed(work, message, { result, log, jsonLog, usage });
  return mergeDone(work, { result, message, log, jsonLog, usage });
}

/** Merges before the store records the success, so that the job's branch always contains the work of done items. */
export async function mergeDone(work: AgentWork, given: DoneWork): Promise<Outcome> {
  const { merge, done } = await mergeResolved(work, given);
  const { result, log, usage } = done;
  if ("kind" in merge && merge.kind === "stopped")
    return compact({ kind: "released" as const, why: merge.why ?? "the runner stopped", usage });
  if ("kind" in merge && merge.kind === "rejected")
    return failed(work, compact({ failure: rejected(work, merge), usage }));
  const fault = "kind" in merge ? mergeFault(merge) : merge;
  if (fault !== null) return mergeFailed(work, fault, done);
  const merged = "commit" in merge ? merge : undefined;
  const all = { ...result, ...(merged && workToJson(merged)) };
  return compact({ kind: "succeeded" as const, result: all, log, mergedCommit: merged?.commit, usage });
}

function mergeFailed(
  work: AgentWork,
  fault: AgentFault,
  { log, jsonLog, usage }: DoneWork,
): Promise<Outcome> {
  const context = ["all steps succeeded", "merge into the job's branch", ...(fault.context ?? [])];
  const failure = agentFailure(work, { ...fault, context, log, jsonLog });
  return failed(work, compact({ failure, usage }));
}

/** Expands the workflow's commit message, which may contain the item and captures. */
function messageFrom(
  { spec, masker }: WorkflowRuntime,
  variables: Readonly<Record<string, Json>>,
): string | undefined | AgentFault {
  const { message: template } = spec.workflow.itemMerge ?? {};
  try {
    const message = template && masker.mask(naming("merge.message", () => expand(template, variables)));
    return message?.trim() || undefined;
  } catch (error) {
    if (!isUsageError(error)) throw error;
    return { errorType: { name: "ValidationFailed" }, message: error.message, step: "merge" };
  }
}

/**
 * Merges, and lets the workflow's steps resolve conflicts. The branch may move in the meantime, so this may
 * take several rounds.
 */
async function mergeResolved(
  work: AgentWork,
  given: DoneWork,
): Promise<{ readonly merge: Merge | AgentFault; readonly done: DoneWork }> {
  let done = given;
  try {
    for (let round = 1; ; round++) {
      const merge = await mergeNow(work, done);
      if (merge.kind !== "conflict" || work.resolve === undefined || round > ROUNDS_MAX)
        return { merge, done };
      const resolution = await work.resolve();
      done = withUsage(done, resolution.usage);
      if (resolution.kind === "stopped")
        return { merge: compact({ kind: "stopped" as const, why: resolution.why }), done };
      if (resolution.kind === "unresolved")
        return { merge: conflictFault(merge.files, resolution.why), done };
    }
  } catch (error) {
    return { merge: worktreeFault(error, "merge"), done };
  }
}

function withUsage(done: DoneWork, more: AgentUsage | undefined): DoneWork {
  if (more === undefined) return done;
  const usage = addUsage(done.usage, more);
  return { ...done, usage, result: { ...done.result, usage: { ...usage } } };
}

function mergeNow({ checkout, verified, item }: AgentWork, done: DoneWork): Promise<Merge> {
  const { result, message, log } = done;
  if (verified === undefined) return checkout.merge(message);
  const kept = compact({ result, message, log, revision: item.revision }) as JsonObject;
  return verified.waiting((wait) => checkout.merge(message, { wait, result: kept }));
}

/** Reads the work of an earlier attempt. Returns undefined if the item's data has changed since. */
export function doneWorkFromJson(json: JsonObject, item: LeasedItem): DoneWork | undefined {
  const { result, revision } = json;
  if (!isJsonObject(result) || revision !== item.revision) return undefined;
  const read = reader(json);
  return { result, message: read.text("message"), log: read.text("log") };
}

/** Converts a failed `verify` step to a failure of the item. */
function rejected(
  { runtime, item, agentId }: AgentWork,
  { failure, passedWith, output }: Extract<Merge, { kind: "rejected" }>,
): Failure {
  const { logs, clock } = runtime.jobRuntime;
  const log = logs.log(item.itemId, item.attempt);
  appendOutput(log, output);
  const others = passedWith.length === 0 ? "" : `with ${passedWith.length} other items and `;
  const now = clock.now();
  return {
    ...failure,
    ...{ attemptNumber: item.attempt, timestamp: now, agentId, log },
    errorType: { name: "VerifyFailed" },
    errorClass: classOfType("VerifyFailed"),
    errorMessage: `verify failed: ${failure.errorMessage}`,
    errorContext: [
      "all steps succeeded",
      `verify passes ${others}without this item`,
      ...(failure.errorContext ?? []),
    ],
    stepFailed: `verify: ${failure.stepFailed}`,
    durationMs: Math.max(0, now - item.startedAt),
  };
}

export function workToJson({ commit, branch, changes }: MergedWork): JsonObject {
  return compact({ commit, branch, changes: changes && { ...changes } });
}

function conflictFault(files: readonly string[], why?: string): AgentFault {
  const message = `The agent's commits conflict with the job's branch in ${files.join(", ")}.`;
  const errorType = { name: "MergeConflict", fields: { files: [...files] } } as const;
  return { errorType, message, step: "merge", ...(why !== undefined && { context: [why] }) };
}

function mergeFault(merge: Merge): AgentFault | null {
  if (merge.kind === "conflict") return conflictFault(merge.files);
  if (merge.kind !== "refused") return null;
  const message = `The agent's changes could not be committed: ${merge.detail}`;
  return { errorType: { name: "CommitValidationFailed" }, message, step: "merge" };
}
