/**
 * The rules by which people group failures themselves: the first that a failure fits gives its group a name. Rules win
 * over what the algorithm would say, and depend, like it, on nothing but the recorded failure.
 */
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { compilePattern } from "../kit/bounded-pattern.ts";

/** Failures that fit are one group, which has this name. */
export interface GroupRule {
  readonly name: string;
  /** Whatever is given must hold (and), any of a list (or). */
  readonly match: GroupRuleMatch;
}

export interface GroupRuleMatch {
  readonly types?: readonly ErrorTypeName[];
  readonly classes?: readonly ErrorClass[];
  /** The steps that failed. */
  readonly steps?: readonly string[];
  /** In the message, in any case. */
  readonly text?: string;
  /** A regular expression that the message has somewhere; see kit/bounded-pattern.ts. */
  readonly pattern?: string;
}

/** What of a failure a rule looks at. */
export type RuledFailure = Pick<Failure, "errorType" | "errorClass" | "errorMessage" | "stepFailed">;

/** Finds the rule of a failure; undefined when none fits. */
export type RuleFinder = (failure: RuledFailure) => GroupRule | undefined;

const finders = new WeakMap<readonly GroupRule[], RuleFinder>();

/** Compiles rules, once for each list of them; `usage` for a pattern that cannot be. */
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
