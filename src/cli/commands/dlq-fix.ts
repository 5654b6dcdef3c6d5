/** `redrive dlq fix`: uses the fixes of redrive.yml on the letters they match, and runs those again. */
import { fixesToJson, fixLetters } from "../../job/fix-letters.ts";
import { finishToJson } from "../../job/site.ts";
import { requireWork } from "../../job/work.ts";
import { countFixable, planFixes } from "../../redrive/fix.ts";
import type { FixRule } from "../../redrive/fix-rule.ts";
import { askFirst, canAnswer } from "../ask.ts";
import { authorOf } from "../author.ts";
import { type BulkFlags, findMeant, type Meant } from "../bulk.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { FixPreview, fixesText } from "../fix-text.ts";
import { words } from "../list-words.ts";
import { rulesNamed } from "../named-rules.ts";
import { lettersText } from "../operation-text.ts";
import { type WatchOptions, withProgress } from "../run-for-person.ts";

interface FixFlags extends BulkFlags, WatchOptions {
  readonly rule?: readonly string[];
}

export async function dlqFix(context: Context, word: string | undefined, flags: FixFlags): Promise<number> {
  const rules = rulesNamed((await context.config()).fixes, words(flags.rule));
  const meant = await context.withStore((engine) => findMeant(engine, "edit", { job: word, flags }));
  if (meant === null) return sayNone(context);
  requireWork(meant.job);
  if (flags.dryRun) return preview(context, meant, rules);
  await confirm(context, meant, { rules, flags });
  const { job, selection: within } = meant;
  const { result, interrupt, finish } = await withProgress(context, flags, (deps, watch) =>
    fixLetters(deps, { ...watch, job, rules, within, author: authorOf(context.terminal.env) }),
  );
  const document = fixesToJson(job.id, result);
  const merge = job.kind === "workflow" ? { merge: finishToJson(finish) } : {};
  context.answer({ ...document, ...merge }, () => fixesText(job.id, result));
  const isLeft = [document.failed, document.refused, document.remaining].some((count) => count !== 0);
  if (finish.isRefused) return interrupt.exitCode ?? EXIT.refused;
  return interrupt.exitCode ?? (isLeft ? EXIT.lettersLeft : EXIT.done);
}

function sayNone(context: Context): number {
  context.answer({ ...fixesToJson("", []), job_id: null }, () => "There are no letters.\n");
  return EXIT.done;
}

/** Nothing is kept of what was shown already: there may be many. */
async function preview(context: Context, { job, selection: within }: Meant, rules: readonly FixRule[]) {
  const shown = new FixPreview(context, job.id);
  await context.withStore(async (engine) => {
    for await (const match of planFixes(engine, { queue: job.id, rules, within })) shown.add(match);
  });
  shown.end();
  return EXIT.done;
}

/** Counts only where somebody can be asked. */
async function confirm(
  context: Context,
  { job, selection: within }: Meant,
  { rules, flags }: { rules: readonly FixRule[]; flags: FixFlags },
): Promise<void> {
  if (flags.yes || !canAnswer(context)) return;
  const count = await context.withStore((engine) => countFixable(engine, { queue: job.id, rules, within }));
  if (count > 1) await askFirst(context, `Change and run ${lettersText(count)} of ${job.id} again?`);
}
