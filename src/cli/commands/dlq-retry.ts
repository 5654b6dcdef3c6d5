/** `redrive dlq retry`: runs the work of letters again, and says what became of them. */
import { detachLetters, retryLetters } from "../../job/retry.ts";
import { previewRedrive, previewToJson } from "../../redrive/preview.ts";
import type { Recipe } from "../../redrive/recipe.ts";
import { countSelected } from "../../redrive/select.ts";
import { askFirst, canAnswer } from "../ask.ts";
import { authorOf } from "../author.ts";
import { emptyBooks } from "../bulk.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText, previewText } from "../operation-text.ts";
import { clean } from "../paint.ts";
import { redriveForPerson, sayRedriven, unknownToJson } from "../redrive-for-person.ts";
import { type PlanFlags, planFrom, refuseForQueue } from "../redrive-plan.ts";
import { refreshDirectories } from "../refresh-directories.ts";
import { type RequeueFlags, recipeFrom, requeue } from "../requeue-for-person.ts";
import { findRequest, jobToRun, type RetryRequest } from "../retry-request.ts";
import type { WatchOptions } from "../run-for-person.ts";
import type { SelectionFlags } from "../selection.ts";

interface RetryFlags extends SelectionFlags, WatchOptions, PlanFlags, RequeueFlags {
  readonly workflow?: string;
}

export async function dlqRetry(
  context: Context,
  word: string | undefined,
  items: string[],
  flags: RetryFlags,
): Promise<number> {
  const plan = planFrom(flags);
  const { cwd } = context.terminal;
  const recipe = recipeFrom(context, flags);
  const request = await context.withStore((engine) => findRequest(engine, { word, items, flags, cwd }));
  if (request === null) return sayNone(context, flags);
  refuseForQueue(request.job, flags);
  for (const name of request.unknown)
    context.note(`There is no item ${clean(name)} in ${request.job.id}. The others are retried.`);
  const code = await retryFound(context, request, { flags, plan, recipe });
  return request.unknown.length > 0 && code === EXIT.done ? EXIT.notFound : code;
}

interface RetryWords {
  readonly flags: RetryFlags;
  readonly plan: ReturnType<typeof planFrom>;
  readonly recipe: Recipe;
}

async function retryFound(
  context: Context,
  request: RetryRequest,
  { flags, plan, recipe }: RetryWords,
): Promise<number> {
  if (flags.asNew) return requeue(context, request, { flags, recipe });
  if (flags.dryRun) return sayPreview(context, request, flags);
  await confirm(context, request, flags);
  const { selection, unknown } = request;
  const options = { selection, author: authorOf(context.terminal.env), force: flags.force ?? false, plan };
  if (flags.detach) {
    return context.withStore(async (engine) => {
      const job = await jobToRun(engine, request);
      const operation = await detachLetters(engine, { ...options, job });
      await refreshDirectories(context, engine, { jobIds: [job.id], count: operation.selected });
      return sayRedriven(context, { job, operation, unknown });
    });
  }
  return redriveForPerson(context, flags, async (deps, watch) => {
    const job = await jobToRun(deps.engine, request);
    return { job, unknown, operation: await retryLetters(deps, { ...options, ...watch, job }) };
  });
}

function sayNone(context: Context, { dryRun }: RetryFlags): number {
  const none = { selected: 0, redrivable: 0, groups: [], refusals: [] };
  const document = dryRun ? previewToJson(none, null) : emptyBooks("redrive", null);
  context.answer(document, () => "There are no letters.\n");
  return EXIT.done;
}

async function sayPreview(context: Context, request: RetryRequest, flags: RetryFlags): Promise<number> {
  const { job, selection } = request;
  const force = flags.force ?? false;
  const preview = await context.withStore((engine) => previewRedrive(engine, selection, { force }));
  const document = { ...previewToJson(preview, job.id), ...unknownToJson(request.unknown) };
  context.answer(document, () => previewText(preview, job.id, context));
  return EXIT.done;
}

/** Counts only where somebody can be asked. */
async function confirm(context: Context, { job, selection }: RetryRequest, flags: RetryFlags): Promise<void> {
  if (flags.yes || !canAnswer(context)) return;
  const filter = flags.force ? selection.filter : { ...selection.filter, eligible: true };
  const count = await context.withStore((engine) => countSelected(engine, { ...selection, filter }));
  if (count > 1) await askFirst(context, `Run ${lettersText(count)} of ${job.id} again?`);
}
