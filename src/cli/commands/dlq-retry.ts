/** `redrive dlq retry`: redrives letters, or adds copies of them as new items to their queue. */
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { PRIORITIES } from "../../item/item.ts";
import { isStanding, type Job, type JobChange } from "../../item/job.ts";
import { type Operation, operationToJson } from "../../item/operation.ts";
import { listRequeued, previewRequeue, type RequeuedLetter, requeueLetters } from "../../redrive/amend.ts";
import type { RedrivePlan } from "../../redrive/plan.ts";
import { previewRedrive, previewToJson } from "../../redrive/preview.ts";
import { parseSetting, type Recipe } from "../../redrive/recipe.ts";
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
import { EXIT } from "../exit-code.ts";
import { answerRedriven, runRedrive, unknownToJson } from "../interactive-run.ts";
import { readJsonOption } from "../json-input.ts";
import { refreshDirectories } from "../maintenance.ts";
import * as option from "../options.ts";
import { noMatchText, previewText, refusalLines } from "../render/operation.ts";
import { clean, lettersText } from "../render/text.ts";
import { resolveBulk, selectionOptions } from "../selection.ts";

const options = {
  ...selectionOptions,
  dryRun: option.dryRun,
  yes: option.yes,
  force: option.flag("--force", "also retry letters that need a person, cannot succeed, or failed too often"),
  canary: option.canary,
  slots: option.concurrency("how many run at a time (default: as the job)"),
  rate: option.rate("start at most this many, e.g. 5/s or 100/m (default: no limit)"),
  delayMs: option.duration("--delay <duration>", "wait before the first one (default: 0)"),
  maxRetries: option.retries("how often each is retried (default: as the job)"),
  priority: option.choice(
    "--priority <priority>",
    "the new priority of their items (default: unchanged)",
    PRIORITIES,
  ),
  workflow: option.word("--workflow <file>", "retry them with this corrected workflow; the job keeps it"),
  asNew: option.flag(
    "--as-new",
    "for a queue: send each letter as a new item, Requeue-NAME, and close the letter",
  ),
  set: option.repeated("--set <path=cel>", "with --as-new: set a field of the new item's data"),
  patch: option.word("--patch <json>", "with --as-new: a JSON merge patch of the new item's data, or @FILE"),
  detach: option.flag(
    "--detach",
    "only send them back; a runner of the job or `redrive ops resume` does the work",
  ),
  quiet: option.quiet,
  storeWaitMs: option.storeWaitMs,
};

type RetryFlags = Given<typeof options>;

const retry = command({
  aliases: ["reprocess", "redrive"],
  summary: "Retry dead letters.",
  description:
    "A letter leaves the dead letter queue when its new attempt has succeeded. One that fails again is the same letter with a longer history.",
  examples: [
    "redrive dlq retry nightly --dry-run",
    "redrive dlq retry nightly --group 160a1b20 --canary",
    "redrive dlq retry nightly order-7 order-9",
    "redrive dlq retry --queue mails --as-new --set 'to=item.to.trim()'",
  ],
  arguments: {
    name: argument("[job]", "id or name of a job or queue (default: the only one with letters)"),
    items: argument("[items...]", "retry only these items"),
  },
  options,
  run: async (context, { name, items, ...flags }) => {
    const plan = planFrom(flags);
    const recipe = recipeFrom(context, flags);
    const { cwd } = context.terminal;
    const request = await context.withStore((engine) => findRequest(engine, { name, items, flags, cwd }));
    if (request === null) {
      const none = { selected: 0, redrivable: 0, groups: [], refusals: [] };
      const document = flags.dryRun ? previewToJson(none, null) : emptyCounts("redrive", null);
      return context.answer(document, () => "No letters.\n");
    }
    refuseForQueue(request.job, flags);
    for (const item of request.unknown)
      context.note(`${request.job.id} has no item ${clean(item)}. Retrying the others.`);
    const code = flags.asNew
      ? await requeue(context, request, { flags, recipe })
      : await retryFound(context, request, { flags, plan });
    return request.unknown.length > 0 && code === EXIT.done ? EXIT.notFound : code;
  },
});

export const commands = { retry };

/** Builds the redrive plan from the options. */
export function planFrom(flags: Partial<RetryFlags>): RedrivePlan {
  if (flags.canary && flags.detach) {
    const why = "a canary waits for its first letters";
    throw new RedriveError("usage", `--canary and --detach cannot be used together: ${why}.`);
  }
  const { rate: pace, delayMs, maxRetries, slots, priority, canary: isCanary } = flags;
  return compact({ rate: pace, delayMs, maxRetries, slots, priority, canary: isCanary || undefined });
}

/** Refuses options that the workers of a queue would ignore, because they have their own settings. */
function refuseForQueue(job: Job, { slots, maxRetries }: RetryFlags): void {
  if (!isStanding(job)) return;
  const noEffect = (option: string, why: string, hint: string) =>
    new RedriveError("usage", `${option} has no effect on ${job.id}: ${why}.`, { hint });
  if (slots !== undefined) {
    const hint = "Start more workers, or limit the retry with --rate, e.g. --rate 5/s.";
    throw noEffect("--concurrency", "its workers decide how many run", hint);
  }
  if (maxRetries !== undefined) {
    const hint = `Change it for all of its items: redrive queue set ${job.id} --retries ${maxRetries}`;
    throw noEffect("--retries", "its workers retry as the queue is set", hint);
  }
}

interface RetryRequest extends SelectedLetters {
  /** Named items that do not exist. */
  readonly unknown: readonly string[];
  /** The new workflow of the job. */
  readonly change?: JobChange;
}

interface RetryWords {
  readonly name?: string | undefined;
  readonly items: readonly string[];
  readonly flags: RetryFlags;
  readonly cwd: string;
}

/** Returns null if nothing was named and there are no letters. A named job or item that does not exist is an error. */
async function findRequest(
  engine: Engine,
  { name, items, flags, cwd }: RetryWords,
): Promise<RetryRequest | null> {
  const isNamed = [name, flags.job, flags.queue, ...items].some((one) => one !== undefined);
  if (!isNamed && (await engine.listGroups({})).length === 0) return null;
  const found = await resolveBulk(engine, { job: name, items, flags, skipsUnknown: true });
  const { job, unknown } = found;
  const request = { job, unknown, selection: selectionFor("redrive", found.selection) };
  await refuseOtherStates(engine, "redrive", request);
  const change = await newWorkflowFor(engine, job, { file: flags.workflow, cwd });
  if (change !== null) return { ...request, change };
  requireHandler(job);
  return request;
}

/** Loads this module only if a job gets a new workflow. */
const newWorkflow = () => import("../../run/new-workflow.ts");

async function newWorkflowFor(
  engine: Engine,
  job: Job,
  { file, cwd }: { readonly file: string | undefined; readonly cwd: string },
): Promise<JobChange | null> {
  if (file !== undefined) return (await newWorkflow()).readNewWorkflow(job, { file, cwd });
  return job.kind === "imported" ? (await newWorkflow()).findWorkflowOfName(engine, job) : null;
}

async function jobToRun(engine: Engine, { job, change }: RetryRequest): Promise<Job> {
  return change === undefined ? job : (await newWorkflow()).giveWorkflow(engine, job, change);
}

async function retryFound(
  context: Context,
  request: RetryRequest,
  { flags, plan }: { readonly flags: RetryFlags; readonly plan: RedrivePlan },
): Promise<number> {
  const { job, selection, unknown } = request;
  const { force } = flags;
  if (flags.dryRun) {
    const preview = await context.withStore((engine) => previewRedrive(engine, selection, { force }));
    const document = { ...previewToJson(preview, job.id), ...unknownToJson(unknown) };
    return context.answer(document, () => previewText(preview, job.id, context));
  }
  const retried = force ? selection : { ...selection, filter: { ...selection.filter, eligible: true } };
  await confirmCount(context, {
    flags,
    question: (letters) => `Retry ${letters} of ${job.id}?`,
    count: (engine) => countSelected(engine, retried),
  });
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
    const hint = "Correct the data first: redrive dlq edit ITEM --set path=CEL";
    const why = "a letter that is retried keeps its data";
    throw new RedriveError("usage", `--set and --patch need --as-new: ${why}.`, { hint });
  }
  const others = [
    flags.canary && "--canary",
    flags.rate && "--rate",
    flags.delayMs !== undefined && "--delay",
    flags.detach && "--detach",
    flags.slots !== undefined && "--concurrency",
    flags.maxRetries !== undefined && "--retries",
  ];
  const other = others.find(Boolean);
  if (asNew && other) {
    throw new RedriveError("usage", `--as-new and ${other} cannot be used together.`, {
      hint: "New items wait in line like all others; the rate of the queue and its workers apply.",
    });
  }
  return {
    ...(set && { set: set.map(parseSetting) }),
    ...(patch !== undefined && { patch: readJsonOption(patch, { option: "--patch", cwd }) }),
  };
}

const SENT_MAX = 1000;

async function requeue(
  context: Context,
  { job, selection, unknown }: RetryRequest,
  { flags, recipe }: { readonly flags: RetryFlags; readonly recipe: Recipe },
): Promise<number> {
  if (!isStanding(job)) {
    const hint = `Correct the data with \`redrive dlq edit\`, then: redrive dlq retry ${job.id}`;
    const why = "whose items are those of its input";
    throw new RedriveError("usage", `--as-new is for queues; ${job.id} is a job, ${why}.`, { hint });
  }
  const { force, priority } = flags;
  const request = { queue: job.id, selection, recipe, force, ...(priority !== undefined && { priority }) };
  if (flags.dryRun) return answerRequeuePreview(context, request);
  await confirmCount(context, {
    flags,
    question: (letters) => `Requeue ${letters} of ${job.id} as new items?`,
    count: (engine) => countSelected(engine, selection),
  });
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

async function answerRequeuePreview(
  context: Context,
  request: Parameters<typeof previewRequeue>[1],
): Promise<number> {
  const { queue } = request;
  const { selected, sent, refusals } = await context.withStore((engine) => previewRequeue(engine, request));
  const refused = selected - sent;
  const counts = { dry_run: true, selected, done: sent, refused };
  const document = emptyCounts("requeue", queue, {
    ...counts,
    refusals,
  });
  return context.answer(
    document,
    () =>
      `Would requeue ${lettersText(sent)} of ${queue} as new items; ${refused} would be refused.\n${refusalLines(refusals)}`,
  );
}
