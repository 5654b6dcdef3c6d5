/** `redrive dlq analyze|stats`: reports why and when letters died, and statistics. */
import { resolve } from "node:path";
import { letterStatsToJson, sumOfStats } from "../../dead-letter/stats.ts";
import { letterStatsOf } from "../../queue/letter-stats.ts";
import { analyseSelected, recordAnalysis } from "../../redrive/analyse-selected.ts";
import { writeOut } from "../../std/files.ts";
import { type JsonObject, stringifyJson } from "../../std/json.ts";
import { type Analysis, analysisToJson } from "../../triage/analyse.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { userError, WRITABLE_FILE } from "../exit-code.ts";
import { path } from "../options.ts";
import { analysisText, canShowBlocks, GROUPS_SHOWN_MAX, statsText } from "../render/analysis.ts";
import { shortIds } from "../render/letter-list.ts";
import { checkSelection, selectedIn, selectionOptions } from "../selection.ts";

const analyze = command({
  aliases: ["analyse"],
  summary: "Analyze why letters died: groups, error types, times.",
  examples: ["redrive dlq analyze nightly", "redrive dlq analyze --newer-than 1d --export analysis.json"],
  arguments: { name: argument("[job]", "id or name (default: all jobs)") },
  options: {
    ...selectionOptions,
    file: path("--export <file>", "also write the analysis to this JSON file"),
  },
  run: async (context, { name, file, ...flags }) => {
    checkSelection(flags);
    const isShort = !context.isJson && file === undefined;
    const { analysis, job, now, idOf } = await context.withStore(async (engine) => {
      const { selection, job: found } = await selectedIn(engine, name, flags);
      const options = isShort ? { sampledGroupsMax: GROUPS_SHOWN_MAX } : {};
      const result = await analyseSelected(engine, selection, options);
      const trouble = found ? await recordAnalysis(engine, found.id, result) : null;
      if (trouble) context.note(`The analysis was not recorded as an event: ${trouble.message}`);
      const ids = isShort && context.isTerminal ? samplesOf(result) : [];
      return { analysis: result, job: found, now: await engine.now(), idOf: await shortIds(engine, ids) };
    });
    const document = analysisToJson(analysis);
    if (file !== undefined) await writeJson(context, file, document);
    const { paint, columns, terminal } = context;
    const ofWhat = job ? ` of ${job.id}` : "";
    const view = { paint, columns, now, idOf, blocks: canShowBlocks(terminal.env), ofWhat };
    return context.answer(document, () => analysisText(analysis, view));
  },
});

function samplesOf({ patternGroups }: Analysis): readonly string[] {
  return patternGroups.flatMap(({ sampleItems: [sample] }) => (sample === undefined ? [] : [sample.itemId]));
}

async function writeJson(context: Context, file: string, document: JsonObject): Promise<void> {
  try {
    await writeOut(resolve(context.terminal.cwd, file), `${stringifyJson(document, 2)}\n`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw userError("usage", `${file} cannot be written: ${why}.`, WRITABLE_FILE, error);
  }
  context.note(`Wrote the analysis to ${file}.`);
}

const stats = command({
  summary: "Print dead letter queue statistics: size, age, arrivals, retry success, remaining capacity.",
  examples: ["redrive dlq stats", "redrive dlq stats nightly --json"],
  arguments: { name: argument("[job]", "id or name (default: all jobs)") },
  run: async (context, { name }) => {
    const { maxItems: itemsMax } = (await context.config()).dlq;
    const all = await context.withStore((engine) => letterStatsOf(engine, name));
    const jobs = all.map((own) => ({ job_id: own.jobId, ...letterStatsToJson(own, itemsMax) }));
    const { paint, columns } = context;
    return context.answer({ jobs, total: letterStatsToJson(sumOfStats(all)) }, () =>
      statsText(all, { paint, columns, itemsMax, isOneJob: name !== undefined }),
    );
  },
});

export const commands = { analyze, stats };
