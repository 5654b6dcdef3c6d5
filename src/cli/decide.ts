/** The commands that decide about letters (discard, restore, clear, purge): the same steps, in their own words. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Operation, OperationKind } from "../item/operation.ts";
import { formatDuration } from "../kit/duration.ts";
import type { JsonObject } from "../kit/json.ts";
import { isOver } from "../redrive/change-operation.ts";
import { type Survey, survey, surveyToJson } from "../redrive/survey.ts";
import { askFirst, canAnswer } from "./ask.ts";
import { type BulkWords, emptyBooks, findMeant, type Meant } from "./bulk.ts";
import { changeExitCode, changeLetters } from "./change-letters.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { groupTable } from "./group-table.ts";
import { leftText, lettersText } from "./operation-text.ts";

/** One of these commands. */
export interface Decision {
  readonly kind: OperationKind;
  /** `Discard`, `Discarded`. */
  readonly verb: string;
  readonly past: string;
  /** What it cannot take back is never done unasked: where nobody can answer, it needs `--yes`. */
  readonly mustAsk: boolean;
  readonly run: (engine: Engine, meant: Meant, signal: AbortSignal) => Promise<Operation>;
  readonly toJson: (operation: Operation) => JsonObject;
  /** What else there is to say of the result. */
  readonly more?: (operation: Operation) => string;
}

export async function decide(context: Context, words: BulkWords, decision: Decision): Promise<number> {
  const { kind } = decision;
  const found = await context.withStore(async (engine) => {
    const meant = await findMeant(engine, kind, words);
    if (meant === null) return null;
    return { meant, preview: await survey(engine, meant.selection), now: await engine.now() };
  });
  if (found === null || found.preview.total === 0) return sayNone(context, kind, found?.meant);
  const { meant, preview, now } = found;
  if (words.flags.dryRun) return sayPreview(context, decision, { meant, preview, now });
  if (!words.flags.yes) await confirm(context, decision, { meant, preview, now });
  const changed = await changeLetters(context, (engine, signal) => decision.run(engine, meant, signal));
  context.answer(decision.toJson(changed.result), () => resultText(changed.result, decision));
  return changeExitCode(changed);
}

function sayNone(context: Context, kind: OperationKind, meant?: Meant): number {
  const { job } = meant ?? {};
  context.answer(emptyBooks(kind, job?.id ?? null), () => `No letters${job ? ` of ${job.id}` : ""} match.\n`);
  return EXIT.done;
}

interface Found {
  readonly meant: Meant;
  readonly preview: Survey;
  readonly now: number;
}

function sayPreview(context: Context, decision: Decision, found: Found): number {
  const { meant, preview } = found;
  const more = { dry_run: true, selected: preview.total, ...surveyToJson(preview) };
  context.answer(emptyBooks(decision.kind, meant.job.id, more), () => {
    const verb = decision.verb.toLowerCase();
    return `Would ${verb} ${lettersText(preview.total)} of ${meant.job.id}.\n\n${surveyText(context, found)}`;
  });
  return EXIT.done;
}

async function confirm(context: Context, decision: Decision, found: Found): Promise<void> {
  const { kind, verb, mustAsk } = decision;
  const { meant, preview } = found;
  if (!mustAsk && preview.total === 1) return;
  if (mustAsk && !canAnswer(context)) {
    throw new WorkError("usage", `Nothing was done: a ${kind} asks first, and nobody can answer here.`, {
      hint: `It would delete ${lettersText(preview.total)} of ${meant.job.id}. --yes does it, --dry-run shows more.`,
    });
  }
  if (canAnswer(context)) context.note(surveyText(context, found));
  await askFirst(context, `${verb} ${lettersText(preview.total)} of ${meant.job.id}?`);
}

const GROUPS_SHOWN_MAX = 20;

function surveyText(context: Context, { preview, now }: Found): string {
  const { groups, oldestAt = now, newestAt = now } = preview;
  const shown = groupTable(
    groups.slice(0, GROUPS_SHOWN_MAX),
    [
      { title: "LETTERS", value: ({ count }) => String(count), align: "right" },
      { title: "GROUP", value: ({ signature }) => signature, giveUp: 5 },
    ],
    context,
  );
  const hidden = groups.length - GROUPS_SHOWN_MAX;
  const ages = `The oldest died ${formatDuration(now - oldestAt)} ago, the newest ${formatDuration(now - newestAt)} ago.`;
  return `${shown}${hidden > 0 ? `and ${hidden} more groups\n` : ""}${ages}\n`;
}

function resultText(operation: Operation, { past, more }: Decision): string {
  const { id, done, refused, queue } = operation;
  const parts = [`${past} ${lettersText(done)} of ${queue}`];
  if (refused > 0) parts.push(`${refused} refused (redrive ops show ${id} says why)`);
  if (!isOver(operation)) parts.push(leftText(operation));
  return `${parts.join(", ")}.\n${more?.(operation) ?? ""}`;
}

/** How to take it back. */
export function undoText({ id, done }: Operation): string {
  return done > 0 ? `Take it back: redrive ops undo ${id}\n` : "";
}
