/** Applies the rules of `redrive.yml` that correct the type and class of failures. They run before `decide`. */
import { CLASS_OF_TYPE, type ErrorClass, type ErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { compilePattern } from "../std/pattern.ts";

/** Failures that match get this type, this class, or both. */
export interface ClassRule {
  readonly match: ClassRuleMatch;
  readonly type?: ErrorTypeName;
  /** Default: the type's own class. */
  readonly class?: ErrorClass;
}

/** All given conditions must hold; of a list, any entry. */
export interface ClassRuleMatch {
  readonly types?: readonly ErrorTypeName[];
  readonly exitCodes?: readonly number[];
  readonly steps?: readonly string[];
  /** A substring of the message or the kept output, in any case. */
  readonly text?: string;
  /** A regular expression that matches in the message or the kept output; see std/pattern.ts. */
  readonly pattern?: string;
}

type Fits = (failure: Failure) => boolean;

const compiled = new WeakMap<readonly ClassRule[], readonly Fits[]>();

/** Sets the type and class of the first rule that matches. */
export function applyClassRules(failure: Failure, rules: readonly ClassRule[]): Failure {
  const fits = compiled.get(rules) ?? rules.map(({ match }) => compileMatch(match));
  compiled.set(rules, fits);
  const rule = rules.find((_, index) => fits[index]?.(failure));
  if (rule === undefined) return failure;
  const errorType = rule.type === undefined ? failure.errorType : { name: rule.type };
  const errorClass = rule.class ?? CLASS_OF_TYPE[errorType.name];
  return { ...failure, errorType, errorClass };
}

function compileMatch({ types, exitCodes, steps, text, pattern }: ClassRuleMatch): Fits {
  const hasPattern = pattern === undefined ? undefined : compilePattern(pattern);
  const wanted = text?.toLowerCase();
  return (failure) =>
    (types?.includes(failure.errorType.name) ?? true) &&
    (exitCodes === undefined || (failure.exitCode !== undefined && exitCodes.includes(failure.exitCode))) &&
    (steps?.includes(failure.stepFailed) ?? true) &&
    (wanted === undefined || textsOf(failure).some((one) => one.toLowerCase().includes(wanted))) &&
    (hasPattern === undefined || textsOf(failure).some(hasPattern));
}

function textsOf({ errorMessage, stderrTail = "", stdoutTail = "" }: Failure): readonly string[] {
  return [errorMessage, stderrTail, stdoutTail];
}
