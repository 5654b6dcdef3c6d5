/**
 * The group of a failure: by a person's rule, else by the algorithm; and the signatures of groups that people made. All of
 * them carry the version of the algorithm, and depend on nothing that was seen before.
 */
import type { Failure } from "../item/failure.ts";
import { type GroupRule, ruleFinder } from "./group-rule.ts";
import { ALGORITHM, hashOf, type Signature, signatureOf } from "./signature.ts";

export interface FailureGroup extends Signature {
  /** The version of the algorithm. */
  readonly algorithm: string;
  /** The rule that named the group. */
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

/** Of the group that a rule names. */
export function ruleSignature(name: string): string {
  return hashOf("rule", name);
}

/** Of the group that is split off another by a text. The case of the text does not matter, as it does not for letters. */
export function splitSignature(from: string, text: string): string {
  return hashOf("split", from, text.toLowerCase());
}
