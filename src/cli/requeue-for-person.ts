/** `redrive dlq retry --as-new`: sends letters anew as other items, and says under which names. */
import { WorkError } from "../errors.ts";
import { isStanding } from "../item/job.ts";
import { type Operation, operationToJson } from "../item/operation.ts";
import type { Priority } from "../item/priority.ts";
import { parseSetting, type Recipe } from "../redrive/recipe.ts";
import { listSentAnew, previewRequeue, requeueLetters, type SentAnew } from "../redrive/requeue.ts";
import { countSelected } from "../redrive/select.ts";
import { askFirst, canAnswer } from "./ask.ts";
import { authorOf } from "./author.ts";
import { emptyBooks } from "./bulk.ts";
import { changeExitCode, interruptible } from "./change-letters.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { readJsonOption } from "./json-word.ts";
import { lettersText } from "./operation-text.ts";
import { clean } from "./paint.ts";
import { unknownToJson } from "./redrive-for-person.ts";
import type { PlanFlags } from "./redrive-plan.ts";
import { refreshDirectories } from "./refresh-directories.ts";
import type { RetryRequest } from "./retry-request.ts";

export interface RequeueFlags {
  readonly asNew?: boolean;
  readonly set?: readonly string[];
  readonly patch?: string;
  readonly priority?: Priority;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** What is changed on the way. Refused without `--as-new`: a letter that is sent again keeps its data. */
export function recipeFrom({ terminal: { cwd } }: Context, flags: RequeueFlags & PlanFlags): Recipe {
  const { asNew, set, patch } = flags;
  if (!asNew && (set ?? patch) !== undefined) {
    throw new WorkError(
      "usage",
      "--set and --patch go with --as-new: a letter that is run again keeps its data.",
      {
        hint: "`redrive dlq edit` corrects the data of a letter, then `redrive dlq retry` runs it.",
      },
    );
  }
  const [other] = (["canary", "rate", "delay", "detach", "parallel", "maxRetries"] as const).filter(
    (name) => asNew && flags[name] !== undefined,
  );
  if (other !== undefined) {
    const option = other === "maxRetries" ? "max-retries" : other;
    throw new WorkError("usage", `--as-new and --${option} do not go together.`, {
      hint: "New items are in line like all others: the queue's own rate and its workers say when they are done.",
    });
  }
  return {
    ...(set && { set: set.map(parseSetting) }),
    ...(patch !== undefined && { patch: readJsonOption(patch, { option: "--patch", cwd }) }),
  };
}

interface RequeueWords {
  readonly flags: RequeueFlags;
  readonly recipe: Recipe;
}

export async function requeue(
  context: Context,
  { job, selection, unknown }: RetryRequest,
  { flags, recipe }: RequeueWords,
): Promise<number> {
  if (!isStanding(job)) {
    throw new WorkError(
      "usage",
      `--as-new is for queues, and ${job.id} is a job: its items are those of its input.`,
      {
        hint: `\`redrive dlq edit\` corrects the data, \`redrive dlq retry ${job.id}\` runs it.`,
      },
    );
  }
  const { force = false, priority } = flags;
  const request = { queue: job.id, selection, recipe, force, ...(priority !== undefined && { priority }) };
  if (flags.dryRun) return sayPreview(context, request);
  if (!flags.yes && canAnswer(context)) {
    const count = await context.withStore((engine) => countSelected(engine, selection));
    if (count > 1) await askFirst(context, `Send ${lettersText(count)} of ${job.id} anew?`);
  }
  const author = authorOf(context.terminal.env);
  const done = await interruptible(context, async (engine, signal) => {
    const operation = await requeueLetters(engine, { ...request, author, signal });
    await refreshDirectories(context, engine, { jobIds: [job.id], count: operation.done });
    return { operation, sent: await listSentAnew(engine, operation, SENT_MAX) };
  });
  const { operation, sent } = done.result;
  const items = sent.map(({ itemId, newId }) => ({ item_id: itemId, requeued_as: newId }));
  const document = { ...operationToJson(operation), items, ...unknownToJson(unknown) };
  context.answer(document, () => requeueText(operation, sent));
  return changeExitCode({ ...done, result: operation });
}

const SENT_MAX = 1000;
const SENT_SHOWN_MAX = 10;

function requeueText(operation: Operation, sent: readonly SentAnew[]): string {
  const { queue, selected, done, refused, id } = operation;
  if (selected === 0) return `No letters of ${queue} match.\n`;
  const why = refused > 0 ? `, ${refused} refused (redrive ops show ${id} says why)` : "";
  const lines = sent
    .slice(0, SENT_SHOWN_MAX)
    .map(({ itemId, newId }) => `  ${clean(itemId)} → ${clean(newId)}\n`);
  const more = done > SENT_SHOWN_MAX ? `  and ${done - SENT_SHOWN_MAX} more\n` : "";
  const look = sent[0] ? `Look: redrive queue show ${queue} ${clean(sent[0].newId)}\n` : "";
  return `${lettersText(done)} of ${queue} sent anew${why}.\n${lines.join("")}${more}${look}`;
}

async function sayPreview(context: Context, request: Parameters<typeof previewRequeue>[1]): Promise<number> {
  const { queue } = request;
  const { selected, sent, refusals } = await context.withStore((engine) => previewRequeue(engine, request));
  const document = {
    dry_run: true,
    selected,
    done: sent,
    refused: selected - sent,
    refusals: refusals.map((one) => ({ ...one })),
  };
  context.answer(emptyBooks("requeue", queue, document), () => {
    const why = refusals.map(({ reason, count }) => `  ${count}  ${clean(reason)}\n`).join("");
    const refused = why === "" ? "" : `\nRefused:\n${why}`;
    return `Would send ${lettersText(sent)} of ${queue} anew; ${selected - sent} would be refused.\n${refused}`;
  });
  return EXIT.done;
}
