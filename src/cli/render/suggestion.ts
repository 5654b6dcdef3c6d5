/** Renders groups that look similar, with the words in which they differ and the command that merges them. */
import type { MergeSuggestion } from "../../triage/suggest.ts";
import { groupTitle } from "../../triage/title.ts";
import { capped, clean, counted, fit, type Screen, thousands } from "./text.ts";

const GROUPS_MAX = 12;

export function suggestionsText(shown: readonly MergeSuggestion[], total: number, screen: Screen): string {
  if (total === 0) return "No similar groups found.\n";
  const count = `${thousands(shown.length)} of ${counted(total, "suggestion")}.`;
  const texts = shown.map((one) => `${suggestionLines(one, screen).join("\n")}\n`);
  return `${texts.join("\n")}\n${screen.paint.dim(count)}\n`;
}

/** Lists what the groups have in common, the differing words with their groups and letters, and how to merge them. */
export function suggestionLines(
  { into, others, common, words }: MergeSuggestion,
  { paint, columns }: Screen,
): readonly string[] {
  const groups = [into, ...others];
  const rows = groups.map(({ signature, count, pattern }) => {
    const text = `${signature}  ${String(count).padStart(6)}  ${clean(words.get(signature) ?? "")}: ${clean(groupTitle(pattern).title)}`;
    return `  ${fit(text, Math.max(60, columns - 2))}`;
  });
  return [
    `${counted(groups.length, "group")} differ in only one word`,
    `  ${fit(clean(common), Math.max(60, columns - 2))}`,
    ...capped(rows, GROUPS_MAX, (left) => paint.dim(`  … ${left} more; --json shows all`)),
    `  Merge: redrive groups merge ${others.map(({ signature }) => signature).join(" ")} --into ${into.signature}`,
  ];
}
