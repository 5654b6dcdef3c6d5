/**
 * Translates an expression to a condition that stores evaluate. Where the meaning is not certainly the same, the condition is
 * unknown, and the expression itself is evaluated for the letter.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import {
  ARITHMETIC,
  type Comparison,
  type FlagField,
  type FlagValue,
  isConditionKey,
  type LetterCondition,
  type NumberField,
  type NumberValue,
  TEXT_TESTS,
  type TextField,
  type TextValue,
} from "../item/letter-condition.ts";
import { toRfc3339 } from "../std/clock.ts";

/** The condition of the expression with this syntax tree. */
export function storeCondition(tree: ASTNode): LetterCondition {
  return conditionOf(tree);
}

const UNKNOWN: LetterCondition = { is: "unknown" };

function conditionOf(node: ASTNode): LetterCondition {
  switch (node.op) {
    case "value":
      return typeof node.args === "boolean" ? { is: "constant", value: node.args } : UNKNOWN;
    case "&&":
      return { is: "all", of: node.args.map(conditionOf) };
    case "||":
      return { is: "any", of: node.args.map(conditionOf) };
    case "!_":
      return { is: "not", of: conditionOf(node.args) };
    case "?:": {
      const [when, yes, no] = node.args;
      return { is: "choice", when: conditionOf(when), yes: conditionOf(yes), no: conditionOf(no) };
    }
    case "!=":
      return { is: "not", of: comparisonOf("==", node.args) };
    case "==":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return comparisonOf(node.op, node.args);
    case "in":
      return membershipOf(node.args);
    case "rcall":
      return textTestOf(node.args);
    case "call":
      return presenceOf(node.args);
    default:
      return flagOf(node);
  }
}

const TURNED: Readonly<Record<Comparison, Comparison>> = {
  "==": "==",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

function comparisonOf(operator: Comparison, [left, right]: readonly [ASTNode, ASTNode]): LetterCondition {
  const constant = constantOf(right);
  if (constant !== undefined) return comparedWith(left, operator, constant);
  const first = constantOf(left);
  return first === undefined ? UNKNOWN : comparedWith(right, TURNED[operator], first);
}

type Constant = string | number | boolean | null;

/** Returns undefined for constants that a store may read differently. */
function constantOf(node: ASTNode): Constant | undefined {
  if (node.op === "-_") {
    const number = constantOf(node.args);
    return typeof number === "number" ? -number : undefined;
  }
  if (node.op !== "value") return undefined;
  const value = node.args;
  if (typeof value === "string") return isPlain(value) ? value : undefined;
  if (typeof value === "bigint") return exactly(Number(value));
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  return typeof value === "boolean" || value === null ? value : undefined;
}

/** Lone surrogates cannot be encoded in UTF-8, and the character 0 would end a text. */
function isPlain(text: string): boolean {
  return !text.includes("\0") && !/\p{Surrogate}/u.test(text);
}

function exactly(number: number): number | undefined {
  return Number.isSafeInteger(number) ? number : undefined;
}

function comparedWith(node: ASTNode, test: Comparison, constant: Constant): LetterCondition {
  if (typeof constant === "string") return comparedText(node, test, constant);
  if (typeof constant === "number") {
    const value = numberOf(node);
    return value === undefined ? UNKNOWN : { is: "number", value, test, with: constant };
  }
  if (test !== "==") return UNKNOWN;
  if (constant === null) {
    const place = placeOf(node);
    return place?.of === "data" ? { is: "null", value: place } : UNKNOWN;
  }
  const flag = flagOf(node);
  return constant ? flag : { is: "not", of: flag };
}

function comparedText(node: ASTNode, test: Comparison, text: string): LetterCondition {
  const place = placeOf(node);
  if (place?.of === "letter" && isTime(place.field)) return comparedTime(place.field, test, text);
  const value = textOf(node);
  if (value === undefined) return UNKNOWN;
  const isOrdered = test !== "==";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
  return isOrdered && !/^[\x01-\x7f]*$/.test(text) ? UNKNOWN : { is: "text", value, test, with: text };
}

/** Times are texts in expressions and numbers in stores. */
function comparedTime(field: NumberField, test: Comparison, text: string): LetterCondition {
  const value: NumberValue = { of: "letter", field };
  const from = firstTime((time) => time >= text); // the first time that is not before the text
  const after = firstTime((time) => time > text);
  const is = (operator: Comparison, number: number): LetterCondition => ({
    is: "number",
    value,
    test: operator,
    with: number,
  });
  if (test === "<") return is("<", from);
  if (test === ">=") return is(">=", from);
  if (test === "<=") return is("<", after);
  if (test === ">") return is(">=", after);
  return { is: "all", of: [is(">=", from), is("<", after)] };
}

const FIRST_TIME = Date.UTC(1000, 0);
const LAST_TIME = Date.UTC(9999, 11, 31);

/** The first time whose text matches; texts of later times are larger. */
function firstTime(fits: (text: string) => boolean): number {
  let [low, high] = [FIRST_TIME, LAST_TIME + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (fits(toRfc3339(middle))) high = middle;
    else low = middle + 1;
  }
  return low;
}

function membershipOf([value, list]: readonly [ASTNode, ASTNode]): LetterCondition {
  if (list.op !== "list") return UNKNOWN;
  const constants = list.args.map(constantOf);
  if (constants.length === 0 || !constants.every((one) => typeof one === "string")) return UNKNOWN;
  return { is: "any", of: constants.map((text) => comparedText(value, "==", text)) };
}

function textTestOf([name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]]): LetterCondition {
  const test = TEXT_TESTS.find((one) => one === name);
  const [part, ...others] = args;
  const text = part === undefined ? undefined : constantOf(part);
  const value = textOf(receiver);
  const isKnown = test !== undefined && typeof text === "string" && value !== undefined;
  return isKnown && others.length === 0 ? { is: "text", value, test, with: text } : UNKNOWN;
}

function presenceOf([name, args]: readonly [string, readonly ASTNode[]]): LetterCondition {
  const [asked] = args;
  if (name !== "has" || asked?.op !== ".") return UNKNOWN;
  const place = placeOf(asked);
  if (place?.of === "data") return { is: "present", value: place };
  return place?.of === "letter" && (isText(place.field) || isNumber(place.field))
    ? { is: "constant", value: true }
    : UNKNOWN;
}

function flagOf(node: ASTNode): LetterCondition {
  const place = placeOf(node);
  const value: FlagValue | undefined =
    place?.of === "data" || (place?.of === "letter" && isFlag(place.field))
      ? (place as FlagValue)
      : undefined;
  return value === undefined ? UNKNOWN : { is: "flag", value };
}

function textOf(node: ASTNode): TextValue | undefined {
  const place = placeOf(node);
  if (place?.of === "letter") return isText(place.field) ? { of: "letter", field: place.field } : undefined;
  return place?.of === "failure" && !FAILURE_TEXTS.has(place.field) ? undefined : place;
}

function numberOf(node: ASTNode): NumberValue | undefined {
  const operator = ARITHMETIC.find((one) => one === node.op);
  if (operator !== undefined) return resultOf(operator, node.args as readonly [ASTNode, ASTNode]);
  const place = placeOf(node);
  if (place?.of === "letter") {
    const { field } = place;
    return isNumber(field) && !isTime(field) ? { of: "letter", field } : undefined;
  }
  return place?.of === "failure" && !FAILURE_NUMBERS.has(place.field) ? undefined : place;
}

function resultOf(
  operator: (typeof ARITHMETIC)[number],
  [a, b]: readonly [ASTNode, ASTNode],
): NumberValue | undefined {
  const [left, right] = [operandOf(a), operandOf(b)];
  const isComputed = typeof left === "object" || typeof right === "object";
  if (left === undefined || right === undefined || !isComputed) return undefined;
  return { of: "result", operator, left, right };
}

function operandOf(node: ASTNode): NumberValue | number | undefined {
  const constant = constantOf(node);
  return typeof constant === "number" ? exactly(constant) : numberOf(node);
}

type Place =
  | { readonly of: "data"; readonly path: readonly string[] }
  | { readonly of: "failure"; readonly field: string }
  | { readonly of: "letter"; readonly field: TextField | NumberField | FlagField };

/** Follows `item.a.b`, `letter.x` and `failure.x`, also with brackets. */
function placeOf(node: ASTNode): Place | undefined {
  const path: string[] = [];
  let at = node;
  while (at.op === "." || at.op === "[]") {
    const [of, given] = at.args;
    const key = typeof given === "string" ? given : constantOf(given);
    if (typeof key !== "string" || !isConditionKey(key)) return undefined;
    path.unshift(key);
    at = of;
  }
  const [first, ...rest] = path;
  if (at.op !== "id" || first === undefined) return undefined;
  if (at.args === "item") return { of: "data", path };
  if (at.args === "letter" && first === "item_data" && rest.length > 0) return { of: "data", path: rest };
  if (rest.length > 0) return undefined;
  if (at.args === "failure") return { of: "failure", field: first };
  const field = at.args === "letter" ? LETTER_COLUMNS.get(first) : undefined;
  return field === undefined ? undefined : { of: "letter", field };
}

const TEXTS = {
  item_id: "itemId",
  queue: "queue",
  job_id: "queue",
  error_signature: "errorSignature",
  error_pattern: "errorPattern",
  state: "state",
  reason: "reason",
} as const satisfies Record<string, TextField>;
const NUMBERS = {
  failure_count: "failureCount",
  revision: "revision",
  redrive_count: "redriveCount",
  first_attempt: "firstAttempt",
  last_attempt: "lastAttempt",
} as const satisfies Record<string, NumberField>;
const FLAGS = {
  reprocess_eligible: "reprocessEligible",
  manual_review_required: "manualReviewRequired",
  poison: "poison",
} as const satisfies Record<string, FlagField>;

const LETTER_COLUMNS: ReadonlyMap<string, TextField | NumberField | FlagField> = new Map(
  Object.entries({ ...TEXTS, ...NUMBERS, ...FLAGS }),
);

function isIn<Field extends string>(fields: Readonly<Record<string, Field>>) {
  const known = new Set<string>(Object.values(fields));
  return (field: string): field is Field => known.has(field);
}

const isText = isIn<TextField>(TEXTS);
const isNumber = isIn<NumberField>(NUMBERS);
const isFlag = isIn<FlagField>(FLAGS);
const isTime = (field: string): field is "firstAttempt" | "lastAttempt" =>
  field === "firstAttempt" || field === "lastAttempt";

/** Fields whose stored form is the one that expressions see. */
const FAILURE_TEXTS: ReadonlySet<string> = new Set([
  "error_class",
  "error_message",
  "stack_trace",
  "agent_id",
  "step_failed",
  "json_log_location",
  "signal",
  "stdout_tail",
  "stderr_tail",
  "log",
]);
const FAILURE_NUMBERS: ReadonlySet<string> = new Set(["attempt_number", "duration_ms", "exit_code"]);
