/**
 * `validate`: a step says how complete the work is, by a score in JSON on its output or by its exit code. Below the
 * threshold the `on_incomplete` steps get their chance, and the work is looked at again.
 */
import type { Json } from "../kit/json.ts";
import type { FailureHandler, Validation } from "./model.ts";
import { ruleFailure } from "./step-failure.ts";
import { type At, inside, isTurnedAway, type StepEnd, type StepFailed } from "./step-run.ts";
import { readPrintedScore, readReply, type Score } from "./validation-score.ts";

/** Done when the score is enough. */
export async function validateStep(validation: Validation, at: At): Promise<StepEnd> {
  const { threshold, onIncomplete } = validation;
  let found = await scoreOf(validation, inside(at, "validate"));
  for (let round = 1; isBelow(found, threshold) && onIncomplete && round <= roundsOf(onIncomplete); round++) {
    const helped = await complete(onIncomplete, found, round, at);
    if (helped.kind !== "done") return helped;
    if (onIncomplete.maxAttempts > 0) found = await scoreOf(validation, inside(at, `validate ${round + 1}`));
  }
  if (found.kind !== "score") return found;
  if (found.score >= threshold || onIncomplete?.failWorkflow === false) return { kind: "done" };
  const missing = missingText(found.missing);
  return ruleFailure(
    at,
    "ValidationFailed",
    `the work is ${found.score} % complete, ${threshold} % is needed${missing ? `; missing: ${missing}` : ""}`,
  );
}

function isBelow(found: Score | StepEnd, threshold: number): found is Score {
  return found.kind === "score" && found.score < threshold;
}

function roundsOf({ maxAttempts }: FailureHandler): number {
  return Math.max(1, maxAttempts);
}

function complete(
  handler: FailureHandler,
  { score, missing }: Score,
  round: number,
  at: At,
): Promise<StepEnd> {
  const scope = at.scope.with({ validation: { score, missing } });
  const path = handler.maxAttempts > 1 ? `on_incomplete ${round}` : "on_incomplete";
  return at.runList(handler.steps, { ...inside(at, path), scope });
}

/** A validation that ended by its own exit has a score; one that could not run or took too long has failed. */
async function scoreOf({ step }: Validation, at: At): Promise<Score | StepEnd> {
  const end = await at.runList([step], at);
  if (end.kind === "stopped" || (end.kind === "failed" && !hasJudged(end))) return end;
  const isAgent = step.action.kind === "agent";
  const answer = (isAgent ? readReply : readPrintedScore)(end.output ?? "");
  if (answer.kind === "score") return answer;
  if (end.kind === "failed") return { kind: "score", score: 0, missing: [] };
  // The exit code of a script is an answer. That of an agent only means that it has replied.
  if (answer.kind === "none" && !isAgent) return { kind: "score", score: 100, missing: [] };
  const why = answer.kind === "unreadable" ? answer.why : "it has no JSON object with a score";
  return ruleFailure(at, "ValidationFailed", `the validation's answer cannot be read: ${why}. ${EXPECTED}`);
}

const EXPECTED = 'Expected, e.g.: {"score": 80, "missing": ["tests"]}';

/** An agent that was turned away, or that tells of an error of its own with exit code 0, has judged nothing. */
function hasJudged(end: StepFailed): boolean {
  const { exitCode = 0, errorType } = end.failure;
  return exitCode !== 0 && errorType.name !== "Timeout" && !isTurnedAway(end);
}

function missingText(missing: Json): string {
  if (Array.isArray(missing)) {
    return missing.map((entry) => (typeof entry === "string" ? entry : JSON.stringify(entry))).join(", ");
  }
  return missing === null ? "" : typeof missing === "string" ? missing : JSON.stringify(missing);
}
