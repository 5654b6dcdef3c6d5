/**
 * `validate`: a step scores how complete the work is. Below the threshold, `on_incomplete` runs and the work
 * is scored again.
 */
import { readFileSync, rmSync } from "node:fs";
import { parseMessage } from "../agent/message-lines.ts";
import { asText, type Json, type JsonObject } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import type { Step, Validation } from "./model.ts";
import {
  type At,
  inside,
  isTurnedAway,
  type StepEnd,
  type StepFailed,
  withDeadline,
} from "./step-context.ts";
import { ruleFailure } from "./step-record.ts";
import { expand, naming } from "./variables.ts";
import { insideRoot } from "./write-file.ts";

export async function validateStep(validation: Validation, at: At): Promise<StepEnd> {
  const { threshold, onIncomplete, timeoutMs } = validation;
  if (timeoutMs !== undefined) {
    const { timeoutMs: _, ...rest } = validation;
    return withDeadline(at, timeoutMs, "validate", (limited) => validateStep(rest, limited));
  }
  let found = await scoreOf(validation, inside(at, "validate"));
  const roundsMax = onIncomplete ? Math.max(1, onIncomplete.maxAttempts) : 0;
  for (
    let round = 1;
    found.kind === "score" && found.score < threshold && onIncomplete && round <= roundsMax;
    round++
  ) {
    const { score, missing, gaps = missing, report = {}, output = "" } = found;
    const scope = at.scope.with({
      validation: { ...report, score, missing, gaps, output, attempt_number: round },
    });
    const path = onIncomplete.maxAttempts > 1 ? `on_incomplete ${round}` : "on_incomplete";
    const helped = await at.runList(onIncomplete.steps, { ...inside(at, path), scope });
    if (helped.kind !== "done") return helped;
    if (onIncomplete.maxAttempts > 0) found = await scoreOf(validation, inside(at, `validate ${round + 1}`));
  }
  if (found.kind !== "score") return found;
  if (found.score >= threshold || onIncomplete?.failWorkflow === false) return { kind: "done" };
  const missing = [found.missing ?? []]
    .flat()
    .map((part) => asText(part as Json))
    .join(", ");
  const why = `the work is ${found.score} % complete, but ${threshold} % is required`;
  return ruleFailure(at, "ValidationFailed", missing ? `${why}; missing: ${missing}` : why);
}

/** Removes the result file of an earlier attempt, so that it is not mistaken for the result of this one. */
export function forgetResult({ resultFile, isSelfRated }: Validation, at: At): void {
  if (isSelfRated && resultFile !== undefined) rmSync(resultPath(resultFile, at), { force: true });
}

/** A validation that finished has a score. One that could not run or timed out is a failure. */
async function scoreOf(
  { step, earlier = [], resultFile, isSelfRated }: Validation,
  at: At,
): Promise<Score | StepEnd> {
  const path = resultFile === undefined ? undefined : resultPath(resultFile, at);
  if (path !== undefined && !isSelfRated) rmSync(path, { force: true }); // removes the answer of an earlier validation
  const end = await at.runList([...earlier, step], at);
  if (end.kind === "stopped" || (end.kind === "failed" && !hasJudged(end))) return end;
  const found = path === undefined ? scoreInOutput(step, end, at) : scoreInFile(path, end, at);
  return found.kind === "score" ? { ...found, output: (end.output ?? "").slice(-OUTPUT_CHARS_MAX) } : found;
}

/** How much of the end of a validation's output `on_incomplete` can read. */
const OUTPUT_CHARS_MAX = 64 * 1024;

function scoreInOutput(step: Step, end: Exclude<StepEnd, { kind: "stopped" }>, at: At): Score | StepEnd {
  const isAgent = step.action.kind === "agent";
  const answer = (isAgent ? readReply : readPrintedScore)(end.output ?? "");
  if (answer.kind === "score") return answer;
  if (end.kind === "failed") return { kind: "score", score: 0, missing: [] };
  // Without a score, exit code 0 of a script means complete. For an agent it only means that the agent replied.
  if (answer.kind === "none" && !isAgent) return { kind: "score", score: 100, missing: [] };
  const why = answer.kind === "unreadable" ? answer.why : "it has no JSON object with a score";
  return ruleFailure(
    at,
    "ValidationFailed",
    `the output of the validation cannot be read: ${why}. ${EXPECTED}`,
  );
}

const EXPECTED = 'Expected, e.g.: {"score": 80, "missing": ["tests"]}';

/**
 * False for a timeout, a rate limit, an outage, or an error reported with exit code 0, because these do not
 * reflect the quality of the work.
 */
function hasJudged(end: StepFailed): boolean {
  const { exitCode = 0, errorType } = end.failure;
  return exitCode !== 0 && errorType.name !== "Timeout" && !isTurnedAway(end);
}

function resultPath(resultFile: string, at: At): string {
  return naming("result_file", () => insideRoot(at.run.context.root, expand(resultFile, at.scope.all())));
}

function scoreInFile(path: string, end: StepEnd, at: At): Score | StepEnd {
  const text = tryTo(() => readFileSync(path, "utf8"));
  const answer = text === undefined ? undefined : readReply(text);
  if (answer?.kind === "score") return answer;
  if (end.kind === "failed") return { kind: "score", score: 0, missing: [] };
  const why = answer?.kind === "unreadable" ? answer.why : "it has no JSON object with a score";
  const problem = text === undefined ? "was not written" : `cannot be read: ${why}`;
  return ruleFailure(at, "ValidationFailed", `the result_file of the validation ${problem}. ${EXPECTED}`);
}

interface Score {
  readonly kind: "score";
  readonly score: number;
  readonly missing: Json;
  readonly gaps?: Json;
  /** All fields of the answer. */
  readonly report?: JsonObject;
  readonly output?: string;
}

/** `unreadable` is an answer without a valid score. `none` means that the text contains no answer. */
type ScoreReading = Score | { readonly kind: "unreadable"; readonly why: string } | { readonly kind: "none" };

/** Reads a script's score: JSON as the whole output or as its last line, or a line such as `score: 80`. */
function readPrintedScore(output: string): ScoreReading {
  const text = output.trim();
  const lines = text.split("\n");
  const json = parseMessage(text) ?? parseMessage(lines.at(-1) ?? "");
  return (json && namedScore(json)) ?? namedLine(lines) ?? wholeScore(lines.at(-1) ?? "") ?? { kind: "none" };
}

/** Reads the last line of the form `score: 80`. */
function namedLine(lines: readonly string[]): ScoreReading | undefined {
  const given = lines
    .map((line) => /^\s*score\s*:\s*(.*)$/i.exec(line)?.[1])
    .findLast((text) => text !== undefined);
  return given === undefined ? undefined : (wholeScore(given) ?? plainScore(given) ?? notScore(given));
}

/** `80%`, `80/100` and `80 out of 100`. */
function wholeScore(text: string): ScoreReading | undefined {
  const score = /^\s*(\d+(?:\.\d+)?)\s*(?:%|\/\s*100|out of 100)\s*$/i.exec(text)?.[1];
  return score === undefined ? undefined : plainScore(score);
}

function plainScore(text: string): ScoreReading | undefined {
  const score = percentage(text);
  return score === undefined ? undefined : { kind: "score", score, missing: [] };
}

function notScore(given: string): ScoreReading {
  return { kind: "unreadable", why: `its score is ${JSON.stringify(given)}, not a number from 0 to 100` };
}

/** Reads an agent's score. Agents may wrap it in a code fence or add text. */
function readReply(output: string): ScoreReading {
  const text = output.trim();
  const alone = percentage(text);
  if (alone !== undefined) return { kind: "score", score: alone, missing: [] };
  const readings = objectsIn(text).map((json) => namedScore(json) ?? statusScore(json));
  return (
    readings.findLast(({ kind }) => kind === "score") ??
    readings.findLast(({ kind }) => kind === "unreadable") ?? { kind: "none" }
  );
}

const SCORE_KEYS = ["score", "completion_percentage"] as const;

function namedScore(json: JsonObject): ScoreReading | undefined {
  const key = SCORE_KEYS.find((name) => Object.hasOwn(json, name));
  if (key === undefined) return undefined;
  const given = json[key];
  const score =
    typeof given === "number" || typeof given === "string" ? percentage(String(given)) : undefined;
  if (score !== undefined) return scoreIn(json, score);
  return { kind: "unreadable", why: `its ${key} is ${JSON.stringify(given)}, not a number from 0 to 100` };
}

function scoreIn(json: JsonObject, score: number): Score {
  const missing = json.missing ?? json.gaps ?? [];
  return { kind: "score", score, missing, gaps: json.gaps ?? missing, report: json };
}

function statusScore(json: JsonObject): ScoreReading {
  if (typeof json.status !== "string") return { kind: "none" };
  const score = Object.hasOwn(SCORE_OF_STATUS, json.status) ? SCORE_OF_STATUS[json.status] : undefined;
  if (score !== undefined) return scoreIn(json, score);
  return { kind: "unreadable", why: `it has no score, and its status is ${JSON.stringify(json.status)}` };
}

const SCORE_OF_STATUS: Readonly<Record<string, number>> = { complete: 100, incomplete: 0, failed: 0 };

function percentage(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*%?\s*$/.exec(text);
  const value = match ? Number(match[1]) : undefined;
  return value !== undefined && value <= 100 ? value : undefined;
}

/** Only the end of an output is searched, because the answer comes last. */
const SEARCHED_CHARS_MAX = 64 * 1024;
/** Limits the search in text with many braces that are not JSON, such as code. */
const TRIES_MAX = 500;

/** Returns the outermost JSON objects of a text in order, including the elements of arrays. */
function objectsIn(text: string): readonly JsonObject[] {
  const whole = parseMessage(text);
  if (whole !== undefined) return [whole];
  const searched = text.slice(-SEARCHED_CHARS_MAX);
  const objects: JsonObject[] = [];
  let at = searched.indexOf("{");
  for (let tries = 0; at !== -1 && tries < TRIES_MAX; tries += 1) {
    const end = endOfObject(searched, at);
    const object = end === -1 ? undefined : parseMessage(searched.slice(at, end));
    if (object !== undefined) objects.push(object);
    at = searched.indexOf("{", object === undefined ? at + 1 : end);
  }
  return objects;
}

function endOfObject(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "{") depth += 1;
    else if (character === "}") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}
