/** Suggests merging groups that look similar. */
import type { Engine } from "../engine.ts";
import { COMPARED_MAX, type MergeSuggestion, suggestMerges } from "../triage/suggest.ts";
import { titleToJson } from "../triage/title.ts";
import { type GroupSummary, listGroups } from "./groups.ts";

/** Compares the largest open groups that have letters. */
export async function suggestedMerges(
  engine: Engine,
  scope: { readonly queue?: string } = {},
): Promise<readonly MergeSuggestion<GroupSummary>[]> {
  const { groups } = await listGroups(engine, { ...scope, states: ["open"], limit: COMPARED_MAX });
  return suggestMerges(groups);
}

/** Counts the open groups for which a merge is suggested. */
export async function countSuggested(engine: Engine, scope: { readonly queue?: string }): Promise<number> {
  return (await suggestedMerges(engine, scope)).reduce((sum, { words }) => sum + words.size, 0);
}

export function suggestionToJson({ into, others, common, words }: MergeSuggestion) {
  return {
    common,
    into: into.signature,
    groups: [into, ...others].map(({ signature, pattern, count }) => ({
      signature,
      ...titleToJson(pattern),
      pattern,
      count,
      differs_in: words.get(signature) ?? "",
    })),
  };
}
