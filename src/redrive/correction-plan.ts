/**
 * Which corrections a merge or a split needs, beside those there are. What is merged goes straight to the group that its
 * letters end in, and nothing ever leads in a circle. Pure.
 */
import type { CorrectionRule } from "../item/correction.ts";
import type { Correction, GroupMark } from "../item/group.ts";
import { splitSignature } from "../triage/group-of.ts";

/** A group by its name. */
export type NamedGroup = Pick<GroupMark, "signature" | "pattern">;

/** What is to be written down; removals first. */
export interface CorrectionPlan {
  readonly remove: readonly Pick<Correction, "from" | "text">[];
  readonly add: readonly CorrectionRule[];
}

/**
 * All of a group goes into the target, which is merged into no other. Corrections that led to the group lead to the target
 * now; a text that was split off the target and comes back is split off no more.
 */
export function planMerge(
  group: NamedGroup,
  target: NamedGroup,
  corrections: readonly Correction[],
): CorrectionPlan {
  if (group.signature === target.signature) return { remove: [], add: [] };
  const { signature: to, pattern } = target;
  const leading = corrections.filter((one) => one.to === group.signature);
  return {
    remove: leading.filter(({ from }) => from === to).map(keyOf),
    add: [
      ...leading.filter(({ from }) => from !== to).map((one) => ({ ...ruleOf(one), to, pattern })),
      { from: group.signature, to, pattern },
    ],
  };
}

/** What has the text leaves the group for one of its own; should that have been merged before, it is not any more. */
export function planSplit(
  group: NamedGroup,
  { text, name }: { readonly text: string; readonly name?: string },
  corrections: readonly Correction[],
): CorrectionPlan & { readonly target: NamedGroup } {
  const target = {
    signature: splitSignature(group.signature, text),
    pattern: name ?? `${group.pattern} (${text})`,
  };
  const merge = corrections.filter((one) => one.from === target.signature && one.text === undefined);
  const { signature: to, pattern } = target;
  return { target, remove: merge.map(keyOf), add: [{ from: group.signature, text, to, pattern }] };
}

function keyOf({ from, text }: Correction): Pick<Correction, "from" | "text"> {
  return text === undefined ? { from } : { from, text };
}

function ruleOf({ from, text, to, pattern }: Correction): CorrectionRule {
  return { from, to, pattern, ...(text !== undefined && { text }) };
}
