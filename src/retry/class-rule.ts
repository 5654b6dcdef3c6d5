/** Applies the rules of `redrive.yml` that correct the type and class of failures. They run before `decide`. */
import { classOfType, type ErrorClass, type ErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { type RuleMatch, ruleFinders } from "../triage/rule-match.ts";

/** Sets the type, the class or both of matching failures. */
export interface ClassRule {
  /** `text` and `pattern` are searched in the message and in the recorded output. */
  readonly match: Omit<RuleMatch, "classes">;
  readonly type?: ErrorTypeName;
  /** Default: the class of the type. */
  readonly class?: ErrorClass;
}

const finderOf = ruleFinders<ClassRule>(({ errorMessage, stderrTail = "", stdoutTail = "" }) => [
  errorMessage,
  stderrTail,
  stdoutTail,
]);

export function applyClassRules(failure: Failure, rules: readonly ClassRule[]): Failure {
  const rule = finderOf(rules)(failure);
  if (rule === undefined) return failure;
  const errorType = rule.type === undefined ? failure.errorType : { name: rule.type };
  return { ...failure, errorType, errorClass: rule.class ?? classOfType(errorType.name) };
}
