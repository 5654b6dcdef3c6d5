/** `redrive dlq fix`: applies the rules to a job's letters, retries the letters that they changed, and waits for the end. */
import type { Job } from "../item/job.ts";
import { leftOf, type Operation } from "../item/operation.ts";
import { applyFixes } from "../redrive/fix.ts";
import type { FixRule } from "../redrive/fix-rule.ts";
import type { Selection } from "../redrive/select.ts";
import type { JsonObject } from "../std/json.ts";
import { type ContinueOptions, continueRedrive } from "./retry.ts";
import { type RunDeps, requireHandler } from "./run-job.ts";

export interface FixLettersOptions extends ContinueOptions {
  readonly job: Job;
  readonly rules: readonly FixRule[];
  readonly within: Selection;
  readonly author: string;
}

/** What one rule changed, and how the retries ended. */
export interface FixOutcome {
  readonly rule: string;
  readonly edit: Operation;
  readonly redrive?: Operation;
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
}

/** Makes one pass: a letter that fails again may be fixed by the next one. */
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

/** The totals of each rule and of all. `selected` counts matching letters; `refused` those that a rule or the redrive refused. */
export function fixesToJson(jobId: string, outcomes: readonly FixOutcome[]): JsonObject {
  const fixes = outcomes.map(outcomeToJson);
  const sum = (key: keyof OutcomeJson) => fixes.reduce((total, one) => total + Number(one[key]), 0);
  return {
    operation_id: fixes.length === 1 ? (fixes[0]?.operation_id ?? null) : null,
    job_id: jobId,
    selected: sum("selected"),
    changed: sum("changed"),
    refused: sum("refused"),
    redriven: sum("redriven"),
    succeeded: sum("succeeded"),
    failed: sum("failed"),
    remaining: sum("remaining"),
    fixes: fixes.map((one) => ({ ...one, refusals: one.refusals.map((refusal) => ({ ...refusal })) })),
  };
}

type OutcomeJson = ReturnType<typeof outcomeToJson>;

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
