/** `redrive dlq retry`: redrives letters, or adds copies of them as new items to their queue. */
import type { Engine } from "../../engine.ts";
import { PRIORITIES } from "../../item/item.ts";
import { isStanding, type Job, type JobChange } from "../../item/job.ts";
import { type Operation, operationToJson } from "../../item/operation.ts";
import { listRequeued, previewRequeue, type RequeuedLetter, requeueLetters } from "../../redrive/amend.ts";
import type { RedrivePlan } from "../../redrive/plan.ts";
import { previewRedrive, previewToJson } from "../../redrive/preview.ts";
import type { Recipe } from "../../redrive/recipe.ts";
import { countSelected, selectionFor } from "../../redrive/select.ts";
import { detachLetters, retryLetters } from "../../run/retry.ts";
import { requireHandler } from "../../run/run-job.ts";
import { compact } from "../../std/json.ts";
import {
  changeExitCode,
  confirmCount,
  emptyCounts,
  interruptible,
  refuseOtherStates,
  type SelectedLetters,
} from "../bulk.ts";
import { argument, command, type Given } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, userError } from "../exit-code.ts";
import { answerRedriven, runRedrive, unknownToJson } from "../interactive-run.ts";
import { readRecipe } from "../json-input.ts";
import { refreshDirectories } from "../maintenance.ts";
import * as option from "../options.ts";
import { noMatchText, previewText, refusalLines } from "../render/operation.ts";
import { clean, lettersText } from "../render/text.ts";
import { type LetterWords, resolveBulk, selectionOptions } from "../selection.ts";

const options = {
  ...selectionOptions,
  dryRun: option.dryRun,
  yes: option.yes,
  force: option.flag(
    "--force",
    "also retry letters that need manual review, cannot succeed unchanged, or failed too often",
  ),
  ...option.canaryOptions,
  slots: option.concurrency("how many letters to retry at a time (default: the job's setting)"),
  rate: option.rate("start at most this many, e.g. 5/s or 100/m (default: no limit)"),
  delayMs: option.duration("--delay <duration>", "wait before the first one (default: 0)"),
  maxRetries: option.retries("how often to retry each letter (default: the job's setting)"),
  priority: option.choice("--priority <priority>", "a new priority for the items", PRIORITIES),
  workflow: option.word(
    "--workflow <file>",
    "retry with this corrected workflow, which replaces the job's workflow",
  ),
  asNew: option.flag(
    "--as-new",
    "for queues: add each letter as a new item named Requeue-NAME, and close the letter",
  ),
  set: option.repeated("--set <path=cel>", "with --as-new: set a field of the new item's data"),
  patch: option.word("--patch <json>", "with --as-new: a JSON merge patch of the new item's data, or @FILE"),
  detach: option.flag(
    "--detach",
    "do not wait; a runner of the job or `redrive ops resume` runs the letters",
  ),
  quiet: option.quiet,
  storeWaitMs: option.storeWaitMs,
};

type RetryFlags = Given<typeof options>;

const retry = command({
  aliases: ["reprocess", "redrive"],
  summary: "Retry dead letters.",
  description:
    "A letter leaves the dead letter queue when its new attempt succeeds. If it fails again, the failure is added to its history.",
  examples: [
    "redrive dlq retry nightly --dry-run",
    "redrive dlq retry nightly --group 160a1b20 --canary",
    "redrive dlq retry nightly --canary-size 5",
    "redrive dlq retry nightly order-7 order-9",
    "redrive dlq retry --queue mails --as-new --set 'to=item.to.trim()'",
  ],
  arguments: {
    name: argument("[job]", "id or name of a job or queue (default: the only one with letters)"),
    items: argument("[items...]", "retry only these items"),
  },
  options,
  run: async (context, flags) => {
    const plan = planFrom(flags);
    const recipe = recipeFrom(context, flags);
    const request = await context.withStore((engine) => findRequest(engine, flags, context.terminal.cwd));
    if (request === null) {
      const none = { selected: 0, redrivable: 0, groups: [], refusals: [] };
      const document = flags.dryRun ? previewToJson(none, null) : emptyCounts("redrive", null);
      return context.answer(document, () => "No letters.\n");
    }
    const { job, unknown } = request;
    refuseForQueue(job, flags);
    for (const item of unknown) context.note(`${job.id} has no item ${clean(item)}. Retrying the others.`);
    const code = flags.asNew
      ? await requeue(context, request, { flags, recipe })
      : await retryFound(context, request, { flags, plan });
    return unknown.length > 0 && code === EXIT.done ? EXIT.notFound : code;
  },
});

export const commands = { retry };

export function planFrom(flags: Partial<RetryFlags>): RedrivePlan {
  const { rate, delayMs, maxRetries, slots, priority, canarySize } = flags;
  const canary = canarySize ?? (flags.canary || undefined);
  if (canary && flags.detach) {
    const message =
      "--canary and --detach cannot be used together: a canary waits for the outcome of its first letters.";
    throw userError("usage", message, "Omit one of them.");
  }
  return compact({ rate, delayMs, maxRetries, slots, priority, canary });
}

/** Refuses options that the workers of a queue would ignore, because they have their own settings. */
function refuseForQueue(job: Job, { slots, maxRetries }: RetryFlags): void {
  if (!isStanding(job)) return;
  if (slots !== undefined) {
    const message = `--concurrency has no effect on ${job.id}: its workers decide how many items run at a time.`;
    throw userError("usage", message, "Start more workers, or limit the retry with --rate, e.g. --rate 5/s.");
  }
  if (maxRetries !== undefined) {
    const message = `--retries has no effect on ${job.id}: the settings of the queue apply.`;
    const hint = `Change them for all its items: redrive queue set ${job.id} --retries ${maxRetries}`;
    throw userError("usage", message, hint);
  }
}

interface RetryRequest extends SelectedLetters {
  readonly unknown: readonly string[];
  readonly change?: JobChange;
}

/**
 * Returns null if nothing was given and there are no letters. A given job or item that does not exist is an
 * error.
 */
async function findRequest(engine: Engine, words: LetterWords & { readonly workflow?: string }, cwd: string) {
  const { name, items = [], job: jobName, queue, workflow: file } = words;
  const isNamed = [name, jobName, queue, ...items].some((one) => one !== undefined);
  if (!isNamed && (await engine.listGroups({})).length === 0) return null;
  const found = await resolveBulk(engine, words, { skipsUnknown: true });
  const { job, unknown } = found;
  const request = { job, unknown, selection: selectionFor("redrive", found.selection) };
  await refuseOtherStates(engine, "redrive", request);
  const change =
    file !== undefined
      ? await (await newWorkflow()).readNewWorkflow(job, { file, cwd })
      : job.kind === "imported" && (await (await newWorkflow()).findWorkflowOfName(engine, job));
  if (change) return { ...request, change };
  requireHandler(job);
  return request;
}

/** Loads this module only if a job gets a new workflow. */
const newWorkflow = () => import("../../run/new-workflow.ts");

async function jobToRun(engine: Engine, { job, change }: RetryRequest): Promise<Job> {
  return change === undefined ? job : (await newWorkflow()).giveWorkflow(engine, job, change);
}

async function retryFound(
  context: Context,
  request: RetryRequest,
  { flags, plan }: { flags: RetryFlags; plan: RedrivePlan },
): Promise<number> {
  const { job, selection, unknown } = request;
  const { force } = flags;
  if (flags.dryRun) {
    const preview = await context.withStore((engine) => previewRedrive(engine, selection, { force }));
    const document = { ...previewToJson(preview, job.id), ...unknownToJson(unknown) };
    return context.answer(document, () => previewText(preview, job.id, context));
  }
  const retried = force ? selection : { ...selection, filter: { ...selection.filter, eligible: true } };
  const question = (letters: string) => `Retry ${letters} of ${job.id}?`;
  await confirmCount(context, flags.yes, (engine) => countSelected(engine, retried), question);
  const how = { selection, author: context.author, force, plan };
  if (flags.detach) {
    return context.withStore(async (engine) => {
      const own = await jobToRun(engine, request);
      const operation = await detachLetters(engine, { ...how, job: own });
      await refreshDirectories(context, engine, { jobIds: [own.id], count: operation.selected });
      return answerRedriven(context, { job: own, operation, unknown });
    });
  }
  return runRedrive(context, flags, async (deps, watch) => {
    const own = await jobToRun(deps.engine, request);
    return { job: own, unknown, operation: await retryLetters(deps, { ...how, ...watch, job: own }) };
  });
}

/** Returns the changes of --set and --patch, which need --as-new because a retried letter keeps its data. */
function recipeFrom({ terminal: { cwd } }: Context, flags: RetryFlags): Recipe {
  const { asNew, set, patch } = flags;
  if (!asNew && (set ?? patch) !== undefined) {
    const message = "--set and --patch need --as-new: a retried letter keeps its data.";
    throw userError("usage", message, "Correct the data first: redrive dlq edit ITEM --set path=CEL");
  }
  const other = [
    (flags.canary || flags.canarySize !== undefined) && "--canary",
    flags.rate && "--rate",
    flags.delayMs !== undefined && "--delay",
    flags.detach && "--detach",
    flags.slots !== undefined && "--concurrency",
    flags.maxRetries !== undefined && "--retries",
  ].find(Boolean);
  if (asNew && other) {
    const hint = "New items are queued like all others; the queue's rate limit and its workers apply.";
    throw userError("usage", `--as-new and ${other} cannot be used together.`, hint);
  }
  return readRecipe(flags, cwd);
}

const SENT_MAX = 1000;

async function requeue(
  context: Context,
  { job, selection, unknown }: RetryRequest,
  { flags, recipe }: { flags: RetryFlags; recipe: Recipe },
): Promise<number> {
  if (!isStanding(job)) {
    const hint = `Correct the data with \`redrive dlq edit\`, then: redrive dlq retry ${job.id}`;
    throw userError(
      "usage",
      `--as-new works only for queues, but ${job.id} is a job with a fixed input.`,
      hint,
    );
  }
  const { force, priority } = flags;
  const request = { queue: job.id, selection, recipe, force, ...(priority !== undefined && { priority }) };
  if (flags.dryRun) return answerRequeuePreview(context, request);
  const question = (letters: string) => `Requeue ${letters} of ${job.id} as new items?`;
  await confirmCount(context, flags.yes, (engine) => countSelected(engine, selection), question);
  const { author } = context;
  const done = await interruptible(context, async (engine, signal) => {
    const result = await requeueLetters(engine, { ...request, author, signal });
    await refreshDirectories(context, engine, { jobIds: [job.id], count: result.done });
    return { operation: result, sent: await listRequeued(engine, result, SENT_MAX) };
  });
  const { operation, sent } = done.result;
  const items = sent.map(({ itemId, newId }) => ({ item_id: itemId, requeued_as: newId }));
  const document = { ...operationToJson(operation), items, ...unknownToJson(unknown) };
  const code = changeExitCode({ ...done, result: operation });
  return context.answer(document, () => requeueText(operation, sent), code);
}

const SENT_SHOWN_MAX = 10;

function requeueText(operation: Operation, sent: readonly RequeuedLetter[]): string {
  const { queue, selected, done, refused, id } = operation;
  if (selected === 0) return noMatchText(queue);
  const why = refused > 0 ? `, ${refused} refused (see: redrive ops show ${id})` : "";
  const lines = sent
    .slice(0, SENT_SHOWN_MAX)
    .map(({ itemId, newId }) => `  ${clean(itemId)} → ${clean(newId)}\n`);
  const more = done > SENT_SHOWN_MAX ? `  and ${done - SENT_SHOWN_MAX} more\n` : "";
  const next = sent[0] ? `To show one: redrive queue show ${queue} ${clean(sent[0].newId)}\n` : "";
  return `Requeued ${lettersText(done)} of ${queue} as new items${why}.\n${lines.join("")}${more}${next}`;
}

async function answerRequeuePreview(context: Context, request: Parameters<typeof previewRequeue>[1]) {
  const { queue } = request;
  const { selected, sent, refusals } = await context.withStore((engine) => previewRequeue(engine, request));
  const refused = selected - sent;
  const document = emptyCounts("requeue", queue, { dry_run: true, selected, done: sent, refused, refusals });
  const first = `Would requeue ${lettersText(sent)} of ${queue} as new items; ${refused} would be refused.\n`;
  return context.answer(document, () => first + refusalLines(refusals));
}
