/**
 * What corrections make of a signature, the same in every engine and in every preview: from group to group, for what a
 * split or a merge leads to may itself have been split or merged.
 */
import type { Correction } from "./group.ts";

/** A signature and its pattern. */
export interface Grouping {
  readonly signature: string;
  readonly pattern: string;
}

/** What a correction says, whoever made it. */
export type CorrectionRule = Pick<Correction, "from" | "text" | "to" | "pattern">;

/** Where a failure with this message belongs. Splits go before merges, the oldest first; no group is entered twice. */
export function corrected<Group extends Grouping>(
  group: Group,
  message: string,
  corrections: readonly CorrectionRule[],
): Group {
  const seen = new Set([group.signature]);
  let at = group;
  for (;;) {
    const next = ruleFor(at.signature, message, corrections);
    if (next === undefined || seen.has(next.to)) return at;
    seen.add(next.to);
    at = { ...at, signature: next.to, pattern: next.pattern };
  }
}

function ruleFor(
  signature: string,
  message: string,
  corrections: readonly CorrectionRule[],
): CorrectionRule | undefined {
  const own = corrections.filter(({ from }) => from === signature);
  if (own.length === 0) return undefined;
  const lower = message.toLowerCase();
  const split = own.find(({ text }) => text !== undefined && lower.includes(text.toLowerCase()));
  return split ?? own.find(({ text }) => text === undefined);
}
