/** `redrive groups suggest`: suggests groups to merge because they look similar. */
import { requireJob } from "../../queue/find-job.ts";
import { suggestedMerges, suggestionToJson } from "../../redrive/suggest-merges.ts";
import { command } from "../command.ts";
import { limit, ofJob } from "../options.ts";
import { suggestionsText } from "../render/suggestion.ts";

const suggest = command({
  summary: "List groups that differ in only one word, as candidates for a merge.",
  description: "Changes nothing. A merge is a correction, which also applies to later failures.",
  examples: ["redrive groups suggest", "redrive groups suggest --job nightly --json"],
  options: { job: ofJob("compare groups of this job (default: of all jobs)"), limit },
  run: async (context, { job, limit: count }) => {
    const found = await context.withStore(async (engine) => {
      return suggestedMerges(engine, job === undefined ? {} : { queue: (await requireJob(engine, job)).id });
    });
    const shown = found.slice(0, count);
    const document = { suggestions: shown.map(suggestionToJson), total: found.length };
    return context.answer(document, () => suggestionsText(shown, found.length, context));
  },
});

export const commands = { suggest };
