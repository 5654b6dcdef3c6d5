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
  const { analysis, job, now } = await context.withStore(async (engine) => {
    const selection = await selectionIn(engine, flags);
    const found = await jobFrom(engine, jobName, flags);
    const filter = { ...selection.filter, ...(found && { queue: found.id }) };
    const options = isShort ? { sampledGroupsMax: GROUPS_SHOWN_MAX } : {};
    const result = await analyseSelected(engine, { ...selection, filter }, options);
    const trouble = found ? await recordAnalysis(engine, found.id, result) : null;
    if (trouble) context.note(`That it was analysed is not in the events: ${trouble.message}`);
    return { analysis: result, job: found, now: await engine.now() };
  });
  if (flags.export !== undefined) await writeExport(context, flags.export, analysis);
  const { paint, columns, terminal } = context;
  const view = {
    paint,
    columns,
    now,
    blocks: canShowBlocks(terminal.env),
    ofWhat: job ? ` of ${job.id}` : "",
  };
  context.answer(analysisToJson(analysis), () => analysisText(analysis, view));
  return EXIT.done;
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
