/** Suggests groups of the store that look like one. */
import type { Engine } from "../engine.ts";
import type { JsonObject } from "../std/json.ts";
import { type MergeSuggestion, suggestMerges } from "../triage/suggest.ts";
import { titleToJson } from "../triage/title.ts";
import { type GroupSummary, listGroups } from "./groups.ts";

/** Compares the open groups that have letters. */
export async function suggestedMerges(
  engine: Engine,
  scope: { readonly queue?: string } = {},
): Promise<readonly MergeSuggestion<GroupSummary>[]> {
  const { groups } = await listGroups(engine, { ...scope, states: ["open"] });
  return suggestMerges(groups);
}

export function suggestionToJson({ into, others, common, words }: MergeSuggestion): JsonObject {
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
