/** Builds the result of an attempt that the store records. If the item becomes a letter, it includes what the letter records. */
import { reviewOf } from "../item/error-type.ts";
import { type Failure, withPlainType } from "../item/failure.ts";
import type { DeathRecord, LeasedItem, Settlement, Verdict } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import { assert } from "../std/assert.ts";
import { compact } from "../std/json.ts";
import { type GroupRule, groupOf } from "../triage/grouping.ts";

/** A letter that failed after this many redrives is poison, unless the configuration sets another number. */
export const POISON_AFTER = 5;

export interface Judgement {
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** After how many failed redrives a letter is marked as poison and needs manual review. Default 5. */
  readonly poisonAfter?: number;
  /** Rules that assign failures to named groups before the algorithm does. Default: none. */
  readonly groupRules?: readonly GroupRule[];
}

/** Adds a death record if and only if the verdict buries the item. Pure. */
export function settlementOf(
  item: LeasedItem,
  { outcome, verdict, poisonAfter = POISON_AFTER, groupRules }: Judgement,
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
    ...(outcome.kind !== "lost" && outcome.usage && { usage: outcome.usage }),
    ...(outcome.kind === "succeeded" &&
      compact({ result: outcome.result, mergedCommit: outcome.mergedCommit })),
    ...(isBurial(verdict) && {
      death: {
        ...deathRecordOf(failure, verdict.reason, groupRules),
        ...(outcome.kind === "failed" && compact({ worktreeArtifacts: outcome.artifacts })),
        ...(item.redriveCount >= poisonAfter && ofPoison(item, verdict.reason)),
      },
    }),
  };
}

/** The fields of a poison letter, which a person has to review before the next redrive. */
function ofPoison({ redriveCount }: LeasedItem, reason: string): Partial<DeathRecord> {
  return {
    poison: true,
    reprocessEligible: false,
    manualReviewRequired: true,
    reason: `${reason}; failed again after ${redriveCount} ${redriveCount === 1 ? "redrive" : "redrives"}: poison, needs manual review`,
  };
}

function isBurial(verdict: Verdict): verdict is Extract<Verdict, { kind: "bury" | "stop" }> {
  return verdict.kind === "bury" || verdict.kind === "stop";
}

function deathRecordOf(failure: Failure | undefined, reason: string, rules?: readonly GroupRule[]) {
  assert(failure !== undefined, "only a failed or lost attempt is buried");
  const { signature, pattern, algorithm } = groupOf(failure, rules);
  return {
    reason,
    errorType: failure.errorType.name,
    errorClass: failure.errorClass,
    signature,
    pattern,
    algorithm,
    ...reviewOf(failure),
  };
}
