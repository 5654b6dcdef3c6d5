/** From an outcome and its verdict to the settlement that is written: here a failure gets its grave. */
import { reviewOf } from "../item/error-type.ts";
import { type Failure, withPlainType } from "../item/failure.ts";
import type { Grave, LeasedItem, Settlement, Verdict } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import { assert } from "../kit/assert.ts";
import { groupOf } from "../triage/group-of.ts";
import type { GroupRule } from "../triage/group-rule.ts";

/** A letter that has come back from so many redrives is toxic, unless the configuration says otherwise. */
export const TOXIC_AFTER = 5;

/** How an attempt ended and what was decided about its item. */
export interface Judgement {
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** From how many redrives an item may come back before only a person can send it again. Default 5. */
  readonly toxicAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
}

/** Pure. The grave is there exactly when the verdict buries. */
export function settlementOf(
  item: LeasedItem,
  { outcome, verdict, toxicAfter = TOXIC_AFTER, groupRules }: Judgement,
): Settlement {
  const failed = outcome.kind === "failed" || outcome.kind === "lost" ? outcome.failure : undefined;
  const failure = failed && withPlainType(failed);
  const log = outcome.kind === "lost" ? outcome.failure.log : outcome.log;
  return {
    lease: { ref: item.ref, attempt: item.attempt },
    outcome: outcome.kind,
    verdict,
    ...(failure && { failure }),
    ...(log !== undefined && { log }),
    ...(outcome.kind === "succeeded" && ofSuccess(outcome)),
    ...(isBurial(verdict) && {
      grave: {
        ...graveOf(failure, { reason: verdict.reason, groupRules }),
        ...artifactsOf(outcome),
        ...(item.redriveCount >= toxicAfter && ofToxic(item, verdict.reason)),
      },
    }),
  };
}

function ofSuccess({ result, mergedCommit }: Extract<Outcome, { kind: "succeeded" }>) {
  return { ...(result !== undefined && { result }), ...(mergedCommit !== undefined && { mergedCommit }) };
}

/** Sending it again and again helps nobody: a person has to look first. */
function ofToxic({ redriveCount }: LeasedItem, reason: string): Partial<Grave> {
  return {
    toxic: true,
    reprocessEligible: false,
    manualReviewRequired: true,
    reason: `${reason}; came back from ${redriveCount} ${redriveCount === 1 ? "redrive" : "redrives"}: toxic, a person has to look`,
  };
}

function artifactsOf(outcome: Outcome): Pick<Grave, "worktreeArtifacts"> {
  return outcome.kind === "failed" && outcome.artifacts ? { worktreeArtifacts: outcome.artifacts } : {};
}

function isBurial(verdict: Verdict): verdict is Extract<Verdict, { kind: "bury" | "stop" }> {
  return verdict.kind === "bury" || verdict.kind === "stop";
}

function graveOf(
  failure: Failure | undefined,
  { reason, groupRules: rules }: { reason: string; groupRules: readonly GroupRule[] | undefined },
): Grave {
  assert(failure !== undefined, "only a failed or lost attempt is buried");
  const { signature, pattern, algorithm } = groupOf(failure, rules);
  return {
    reason,
    errorType: failure.errorType.name,
    errorClass: failure.errorClass,
    signature,
    pattern,
    algorithm,
    ...reviewOf(failure.errorType, failure.errorClass, failure.errorMessage),
  };
}
