/** `redrive dlq retry`: sends letters back to work, or copies of them as new items of their queue. */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { PRIORITIES } from "../../item/item.ts";
import { isStanding, type Job, type JobChange } from "../../item/job.ts";
import { type Operation, operationToJson } from "../../item/operation.ts";
import { listRequeued, previewRequeue, type RequeuedLetter, requeueLetters } from "../../redrive/amend.ts";
import type { RedrivePlan } from "../../redrive/plan.ts";
import { previewRedrive, previewToJson } from "../../redrive/preview.ts";
import { parseSetting, type Recipe } from "../../redrive/recipe.ts";
import { countSelected, type Selection, selectionFor } from "../../redrive/select.ts";
import { detachLetters, retryLetters } from "../../run/retry.ts";
import { requireHandler } from "../../run/run-job.ts";
import { compact } from "../../std/json.ts";
import {
  changeExitCode,
  emptyCounts,
  interruptible,
  refuseOtherStates,
  type SelectedLetters,
} from "../bulk.ts";
import { argument, command, type Given } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { answerRedriven, runRedrive, unknownToJson } from "../interactive-redrive.ts";
import { readJsonOption } from "../json-input.ts";
import { refreshDirectories } from "../maintenance.ts";
import {
  canary,
  choice,
  concurrency,
  dryRun,
  duration,
  flag,
  quiet,
  rate,
  repeated,
  retries,
  storeWaitMs,
  word,
  yes,
} from "../options.ts";
import { canAnswer, confirm } from "../prompt.ts";
import { previewText, refusalLines } from "../render/operation.ts";
import { clean } from "../render/paint.ts";
import { lettersText } from "../render/words.ts";
import { resolveBulk, selectionOptions } from "../selection.ts";

const options = {
  ...selectionOptions,
  dryRun,
  yes,
  force: flag("--force", "also retry letters that need a person, cannot succeed, or failed too often"),
  canary,
  slots: concurrency("how many run at a time (default: as the job)"),
  rate: rate("start at most this many, e.g. 5/s or 100/m (default: no limit)"),
  delayMs: duration("--delay <duration>", "wait before the first one (default: 0)"),
  maxRetries: retries("how often each is retried (default: as the job)"),
  priority: choice(
    "--priority <priority>",
    "the new priority of their items (default: unchanged)",
    PRIORITIES,
  ),
  workflow: word("--workflow <file>", "retry them with this corrected workflow; the job keeps it"),
  asNew: flag("--as-new", "for a queue: send each letter as a new item, Requeue-NAME, and close the letter"),
  set: repeated("--set <path=cel>", "with --as-new: set a field of the new item's data"),
  patch: word("--patch <json>", "with --as-new: a JSON merge patch of the new item's data, or @FILE"),
  detach: flag("--detach", "only send them back; a runner of the job or `redrive ops resume` does the work"),
  quiet,
  storeWaitMs,
};

type RetryFlags = Given<typeof options>;

const retry = command({
  name: "retry",
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

export const commands = [retry];

/** How letters are retried. */
export function planFrom(flags: Partial<RetryFlags>): RedrivePlan {
  if (flags.canary && flags.detach)
    throw new WorkError(
      "usage",
      "--canary and --detach exclude each other: a canary waits for its first letters.",
    );
  const { rate: pace, delayMs, maxRetries, slots, priority, canary: isCanary } = flags;
  return compact({ rate: pace, delayMs, maxRetries, slots, priority, canary: isCanary || undefined });
}

/** Workers of a queue have their own settings; what is given here would be ignored. */
function refuseForQueue(job: Job, { slots, maxRetries }: RetryFlags): void {
  if (!isStanding(job)) return;
  if (slots !== undefined) {
    throw new WorkError(
      "usage",
      `--concurrency has no effect on ${job.id}: its workers decide how many run.`,
      {
        hint: "Start more workers, or limit the retry with --rate, e.g. --rate 5/s.",
      },
    );
  }
  if (maxRetries !== undefined) {
    throw new WorkError(
      "usage",
      `--retries has no effect on ${job.id}: its workers retry as the queue is set.`,
      {
        hint: `Change it for all of its items: redrive queue set ${job.id} --retries ${maxRetries}`,
      },
    );
  }
}

interface RetryRequest extends SelectedLetters {
  /** Named items that do not exist. */
  readonly unknown: readonly string[];
  /** What `--workflow` makes of the job. */
  readonly change?: JobChange;
}

interface RetryWords {
  readonly name?: string | undefined;
  readonly items: readonly string[];
  readonly flags: RetryFlags;
  readonly cwd: string;
}

/** Null when there are no letters at all; a named job or item that does not exist is an error. */
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

/** Loads all that workflows need; most letters are retried as the job says. */
const newWorkflow = () => import("../../run/new-workflow.ts");

async function newWorkflowFor(
  engine: Engine,
  job: Job,
  { file, cwd }: { readonly file: string | undefined; readonly cwd: string },
): Promise<JobChange | null> {
  if (file !== undefined) return (await newWorkflow()).readNewWorkflow(job, { file, cwd });
  return job.kind === "imported" ? (await newWorkflow()).findWorkflowOfName(engine, job) : null;
}

/** The job with its new workflow, when it gets one. */
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
  if (!flags.yes)
    await confirmCount(context, "Retry", { job, selection: force ? selection : eligible(selection) });
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

function eligible(selection: Selection): Selection {
  return { ...selection, filter: { ...selection.filter, eligible: true } };
}

/** Counts only where somebody can answer. */
async function confirmCount(
  context: Context,
  verb: string,
  { job, selection }: SelectedLetters,
): Promise<void> {
  if (!canAnswer(context)) return;
  const letters = await context.withStore((engine) => countSelected(engine, selection));
  if (letters > 1) await confirm(context, `${verb} ${lettersText(letters)} of ${job.id}?`);
}

/** What --as-new changes in the data. Refused without it: a letter that is retried keeps its data. */
function recipeFrom({ terminal: { cwd } }: Context, flags: RetryFlags): Recipe {
  const { asNew, set, patch } = flags;
  if (!asNew && (set ?? patch) !== undefined) {
    throw new WorkError(
      "usage",
      "--set and --patch need --as-new: a letter that is retried keeps its data.",
      {
        hint: "Correct the data first: redrive dlq edit ITEM --set path=CEL",
      },
    );
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
    throw new WorkError("usage", `--as-new and ${other} exclude each other.`, {
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
    throw new WorkError(
      "usage",
      `--as-new is for queues; ${job.id} is a job, whose items are those of its input.`,
      {
        hint: `Correct the data with \`redrive dlq edit\`, then: redrive dlq retry ${job.id}`,
      },
    );
  }
  const { force, priority } = flags;
  const request = { queue: job.id, selection, recipe, force, ...(priority !== undefined && { priority }) };
  if (flags.dryRun) return answerRequeuePreview(context, request);
  if (!flags.yes) await confirmCount(context, "Requeue as new items:", { job, selection });
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
  if (selected === 0) return `No letters of ${queue} match.\n`;
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
    refusals: refusals.map((one) => ({ ...one })),
  });
  return context.answer(
    document,
    () =>
      `Would requeue ${lettersText(sent)} of ${queue} as new items; ${refused} would be refused.\n${refusalLines(refusals)}`,
  );
}
