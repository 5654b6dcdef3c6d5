/** The rules of `redrive.yml` that correct type and class of failures. They are applied before `decide` looks at a failure. */
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { compilePattern } from "../kit/bounded-pattern.ts";
import { CLASS_OF_TYPE } from "./class-of-type.ts";

/** Failures that match get this type, this class, or both. */
export interface ClassRule {
  readonly match: ClassRuleMatch;
  readonly type?: ErrorTypeName;
  /** Default: the type's own class. */
  readonly class?: ErrorClass;
}

/** Whatever is given must hold (and), any of a list (or). */
export interface ClassRuleMatch {
  readonly types?: readonly ErrorTypeName[];
  readonly exitCodes?: readonly number[];
  /** The steps that failed. */
  readonly steps?: readonly string[];
  /** In the message or the kept output, in any case. */
  readonly text?: string;
  /** A regular expression that the message or the kept output matches somewhere; see kit/bounded-pattern.ts. */
  readonly pattern?: string;
}

type Fits = (failure: Failure) => boolean;

const compiled = new WeakMap<readonly ClassRule[], readonly Fits[]>();

/** The failure with the type and class of the first rule that fits, or as it is. */
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
