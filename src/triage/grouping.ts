/** Assigns a failure to its group: by a rule that a person wrote, else by the algorithm. */
import type { Failure } from "../item/failure.ts";
import { type RuleMatch, ruleFinders } from "./rule-match.ts";
import { ALGORITHM, hashOf, type Signature, signatureOf } from "./signature.ts";

/** The group of a failure, and the rule that named it. */
export interface FailureGroup extends Signature {
  readonly algorithm: string;
  readonly rule?: string;
}

const NO_RULES: readonly GroupRule[] = [];

/** Returns the group of a failure. A matching rule takes precedence over the algorithm. */
export function groupOf(failure: Failure, rules: readonly GroupRule[] = NO_RULES): FailureGroup {
  const rule = ruleFinder(rules)(failure)?.name;
  if (rule !== undefined)
    return { signature: ruleSignature(rule), pattern: rule, algorithm: ALGORITHM, rule };
  return { ...signatureOf(failure), algorithm: ALGORITHM };
}

export function ruleSignature(name: string): string {
  return hashOf("rule", name);
}

/** Returns the signature of the group that a text splits off another. Case is ignored. */
export function splitSignature(from: string, text: string): string {
  return hashOf("split", from, text.toLowerCase());
}

/** A rule that puts all matching failures into one group with this name. The first matching rule wins. */
export type GroupRule = { readonly name: string; readonly match: Omit<RuleMatch, "exitCodes"> };

export const ruleFinder = ruleFinders<GroupRule>(({ errorMessage }) => [errorMessage]);
