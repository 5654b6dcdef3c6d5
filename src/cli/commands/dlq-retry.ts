/** `redrive dlq retry`: runs the work of letters again, and says what became of them. */
import type { LetterFilter, Operation } from "../../engine.ts";
import type { Job } from "../../item/job.ts";
import { retryLetters } from "../../job/retry.ts";
import { hasLaterSteps } from "../../job/workflow-spec.ts";
import { operationToJson } from "../../redrive/operation.ts";
import { askFirst } from "../ask.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";
import { countOption } from "../option.ts";
import { type WatchOptions, withProgress } from "../run-for-person.ts";
import { filterFrom, jobFrom, onlyJobWithLetters, type SelectionFlags } from "../selection.ts";

interface RetryFlags extends SelectionFlags, WatchOptions {
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly parallel?: string;
  readonly yes?: boolean;
}

export async function dlqRetry(
  context: Context,
  jobName: string | undefined,
  items: string[],
  flags: RetryFlags,
): Promise<number> {
  const slots = countOption("--parallel", flags.parallel, 1);
  const plan = await makePlan(context, jobName, items, flags);
  if (flags.dryRun) return sayPlan(context, plan);
  if (plan.redrivable > 0) await confirm(context, plan, flags);
  const { result, interrupt } = await withProgress(context, flags, (deps, watch) => {
    watch.onJob(plan.job);
    const { job, filter } = plan;
    return retryLetters(deps, {
      job,
      filter,
      force: flags.force ?? false,
      onNotice: watch.onNotice,
      ...(slots !== undefined && { slots }),
    });
  });
  context.answer(operationToJson(result), () => operationText(result, plan.job));
  if (result.succeeded > 0 && hasLaterSteps(plan.job)) {
    context.note(`Reduce was not run again: redrive resume ${plan.job.id} --no-dlq does that.`);
  }
  return interrupt.exitCode ?? (result.failed + result.refused > 0 ? EXIT.lettersLeft : EXIT.done);
}

interface Plan {
  readonly job: Job;
  readonly filter: LetterFilter;
  readonly selected: number;
  readonly redrivable: number;
}

async function makePlan(
  context: Context,
  jobName: string | undefined,
  items: readonly string[],
  flags: RetryFlags,
): Promise<Plan> {
  const flagsFilter = filterFrom(flags);
  return context.withStore(async (engine) => {
    const job = (await jobFrom(engine, jobName, flags)) ?? (await onlyJobWithLetters(engine));
    const ids: string[] = [];
    for (const item of items) ids.push((await requireItem(engine, item, job.id)).itemId);
    const filter = { ...flagsFilter, queue: job.id, ...(ids.length > 0 && { itemIds: ids }) };
    const { total } = await engine.listLetters({ ...filter, limit: 1 });
    const eligible = flags.force
      ? total
      : (await engine.listLetters({ ...filter, eligible: true, limit: 1 })).total;
    return { job, filter, selected: total, redrivable: eligible };
  });
}

function sayPlan(context: Context, { job, selected, redrivable }: Plan): number {
  const refused = selected - redrivable;
  const document = {
    operation_id: null,
    job_id: job.id,
    dry_run: true,
    selected,
    redriven: redrivable,
    refused,
    succeeded: 0,
    failed: 0,
    remaining: 0,
  };
  context.answer(
    document,
    () =>
      `Would run ${count(redrivable)} of ${job.id} again${refused > 0 ? `; ${refused} would be refused (--force overrides)` : ""}.\n`,
  );
  return EXIT.done;
}

async function confirm(context: Context, { job, redrivable }: Plan, { yes }: RetryFlags): Promise<void> {
  if (!yes && redrivable > 1) await askFirst(context, `Run ${count(redrivable)} of ${job.id} again?`);
}

function operationText(operation: Operation, job: Job): string {
  const { selected, refused, succeeded, failed, redriven } = operation;
  if (selected === 0) return `No letters of ${job.id} match.\n`;
  const left = redriven - succeeded - failed;
  const parts = [`${succeeded} succeeded`, `${failed} failed again`];
  if (refused > 0) parts.push(`${refused} refused (not eligible; --force overrides)`);
  if (left > 0) parts.push(`${left} still to do: redrive resume ${job.id} --no-dlq`);
  return `${count(selected)} of ${job.id}: ${parts.join(", ")}.\n`;
}

function count(letters: number): string {
  return letters === 1 ? "1 letter" : `${letters} letters`;
}
