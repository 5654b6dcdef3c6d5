/** How the rules of `redrive.yml` match failures. */
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { compilePattern } from "../std/pattern.ts";

/** A failure matches if it meets every given condition. A list is met if any of its entries matches. */
export interface RuleMatch {
  readonly types?: readonly ErrorTypeName[];
  readonly classes?: readonly ErrorClass[];
  readonly exitCodes?: readonly number[];
  readonly steps?: readonly string[];
  /** A substring of the message, compared without regard to case. */
  readonly text?: string;
  /** A regular expression that matches somewhere in the message; see std/pattern.ts. */
  readonly pattern?: string;
}

export type RuledFailure = Pick<Failure, "errorType" | "errorClass" | "errorMessage" | "stepFailed"> &
  Pick<Failure, "exitCode" | "stderrTail" | "stdoutTail">;

export type RuleFinder<Rule> = (failure: RuledFailure) => Rule | undefined;

/** Compiles each list of rules once. `textsOf` returns the texts to search. An invalid pattern throws `usage`. */
export function ruleFinders<Rule extends { readonly match: RuleMatch }>(
  textsOf: (failure: RuledFailure) => readonly string[],
): (rules: readonly Rule[]) => RuleFinder<Rule> {
  const finders = new WeakMap<readonly Rule[], RuleFinder<Rule>>();
  return (rules) => {
    const known = finders.get(rules);
    if (known !== undefined) return known;
    const compiled = rules.map((rule) => ({ rule, fits: compileMatch(rule.match, textsOf) }));
    const finder: RuleFinder<Rule> = (failure) => compiled.find(({ fits }) => fits(failure))?.rule;
    finders.set(rules, finder);
    return finder;
  };
}

function compileMatch(
  { types, classes, exitCodes, steps, text, pattern }: RuleMatch,
  textsOf: (failure: RuledFailure) => readonly string[],
): (failure: RuledFailure) => boolean {
  const hasPattern = pattern === undefined ? undefined : compilePattern(pattern);
  const wanted = text?.toLowerCase();
  return (failure) =>
    (types?.includes(failure.errorType.name) ?? true) &&
    (classes?.includes(failure.errorClass) ?? true) &&
    (exitCodes === undefined || (failure.exitCode !== undefined && exitCodes.includes(failure.exitCode))) &&
    (steps?.includes(failure.stepFailed) ?? true) &&
    (wanted === undefined || textsOf(failure).some((one) => one.toLowerCase().includes(wanted))) &&
    (hasPattern === undefined || textsOf(failure).some(hasPattern));
}
