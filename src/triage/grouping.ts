/** Assigns a failure to its group: by a rule that a person wrote, else by the algorithm. */
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { compilePattern } from "../std/pattern.ts";
import { ALGORITHM, hashOf, type Signature, signatureOf } from "./signature.ts";

export interface FailureGroup extends Signature {
  readonly algorithm: string;
  readonly rule?: string;
}

const NO_RULES: readonly GroupRule[] = [];

/** The group of a failure. A rule that matches takes precedence over the algorithm. */
export function groupOf(failure: Failure, rules: readonly GroupRule[] = NO_RULES): FailureGroup {
  const rule = ruleFinder(rules)(failure)?.name;
  if (rule !== undefined)
    return { signature: ruleSignature(rule), pattern: rule, algorithm: ALGORITHM, rule };
  return { ...signatureOf(failure), algorithm: ALGORITHM };
}

export function ruleSignature(name: string): string {
  return hashOf("rule", name);
}

/** The signature of the group that a text splits off another. The text is matched without regard to case. */
export function splitSignature(from: string, text: string): string {
  return hashOf("split", from, text.toLowerCase());
}

/** Puts all failures that match into one group with this name. The first rule that matches wins. */
export interface GroupRule {
  readonly name: string;
  /** All given conditions must hold; of a list, any entry. */
  readonly match: GroupRuleMatch;
}

export interface GroupRuleMatch {
  readonly types?: readonly ErrorTypeName[];
  readonly classes?: readonly ErrorClass[];
  readonly steps?: readonly string[];
  /** A substring of the message, in any case. */
  readonly text?: string;
  /** A regular expression that matches somewhere in the message; see std/pattern.ts. */
  readonly pattern?: string;
}

export type RuledFailure = Pick<Failure, "errorType" | "errorClass" | "errorMessage" | "stepFailed">;

/** Returns the first rule that matches. */
export type RuleFinder = (failure: RuledFailure) => GroupRule | undefined;

const finders = new WeakMap<readonly GroupRule[], RuleFinder>();

/** Compiles rules, once per list. Throws a `usage` error for an invalid pattern. */
export function ruleFinder(rules: readonly GroupRule[]): RuleFinder {
  const known = finders.get(rules);
  if (known !== undefined) return known;
  const compiled = rules.map((rule) => ({ rule, fits: compileMatch(rule.match) }));
  const finder: RuleFinder = (failure) => compiled.find(({ fits }) => fits(failure))?.rule;
  finders.set(rules, finder);
  return finder;
}

function compileMatch({ types, classes, steps, text, pattern }: GroupRuleMatch) {
  const hasPattern = pattern === undefined ? undefined : compilePattern(pattern);
  const wanted = text?.toLowerCase();
  return ({ errorType, errorClass, stepFailed, errorMessage }: RuledFailure): boolean =>
    (types?.includes(errorType.name) ?? true) &&
    (classes?.includes(errorClass) ?? true) &&
    (steps?.includes(stepFailed) ?? true) &&
    (wanted === undefined || errorMessage.toLowerCase().includes(wanted)) &&
    (hasPattern?.(errorMessage) ?? true);
}
