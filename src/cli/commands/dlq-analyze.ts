/** `redrive dlq analyze`: why letters died, and when. */
import { resolve } from "node:path";
import { WorkError } from "../../errors.ts";
import { writeOut } from "../../kit/atomic-file.ts";
import { analyseSelected, recordAnalysis } from "../../redrive/analyse-selected.ts";
import { type Analysis, analysisToJson } from "../../triage/analyse.ts";
import { analysisText, GROUPS_SHOWN_MAX } from "../analysis-text.ts";
import { canShowBlocks } from "../chart.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { checkSelection, jobFrom, type SelectionFlags, selectionIn } from "../selection.ts";
import { shortIds } from "../short-names.ts";

interface AnalyzeFlags extends SelectionFlags {
  readonly export?: string;
}

export async function dlqAnalyze(
  context: Context,
  jobName: string | undefined,
  flags: AnalyzeFlags,
): Promise<number> {
  checkSelection(flags);
  const isShort = !context.isJson && flags.export === undefined;
  const { analysis, job, now, idOf } = await context.withStore(async (engine) => {
    const selection = await selectionIn(engine, flags);
    const found = await jobFrom(engine, jobName, flags);
    const filter = { ...selection.filter, ...(found && { queue: found.id }) };
    const options = isShort ? { sampledGroupsMax: GROUPS_SHOWN_MAX } : {};
    const result = await analyseSelected(engine, { ...selection, filter }, options);
    const trouble = found ? await recordAnalysis(engine, found.id, result) : null;
    if (trouble) context.note(`That it was analysed is not in the events: ${trouble.message}`);
    const ids = isShort && context.isTerminal ? samplesOf(result) : [];
    return { analysis: result, job: found, now: await engine.now(), idOf: await shortIds(engine, ids) };
  });
  if (flags.export !== undefined) await writeExport(context, flags.export, analysis);
  const { paint, columns, terminal } = context;
  const view = {
    paint,
    columns,
    now,
    idOf,
    blocks: canShowBlocks(terminal.env),
    ofWhat: job ? ` of ${job.id}` : "",
  };
  context.answer(analysisToJson(analysis), () => analysisText(analysis, view));
  return EXIT.done;
}

/** The letters that are shown as examples. */
function samplesOf({ patternGroups }: Analysis): readonly string[] {
  return patternGroups.flatMap(({ sampleItems: [sample] }) => (sample === undefined ? [] : [sample.itemId]));
}

async function writeExport(context: Context, file: string, analysis: Analysis): Promise<void> {
  const path = resolve(context.terminal.cwd, file);
  try {
    await writeOut(path, `${JSON.stringify(analysisToJson(analysis), null, 2)}\n`);
  } catch (error) {
    throw new WorkError(
      "usage",
      `${file} cannot be written: ${error instanceof Error ? error.message : error}.`,
      {
        cause: error,
        hint: "Name a file in a folder that is there and can be written.",
      },
    );
  }
  context.note(`The analysis is in ${file}.`);
}
