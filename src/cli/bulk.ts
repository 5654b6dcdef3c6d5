/**
 * What every command that changes many letters does around its work: find the letters, preview, ask, change them until
 * Ctrl-C, and print the result. The letter directory of the job follows the change.
 */
import type { Engine } from "../engine.ts";
import { isError, WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { leftOf, type Operation, type OperationKind, STATES_OF_KIND } from "../item/operation.ts";
import { isOver } from "../redrive/change-operation.ts";
import { type Survey, survey, surveyToJson } from "../redrive/preview.ts";
import { type Selection, selectionFor, stateWord } from "../redrive/select.ts";
import { formatDuration } from "../std/duration.ts";
import type { JsonObject } from "../std/json.ts";
import type { Context, StoreOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { refreshDirectories } from "./maintenance.ts";
import { canAnswer, confirm } from "./prompt.ts";
import { groupTable } from "./render/failures.ts";
import { leftText } from "./render/operation.ts";
import { lettersText } from "./render/words.ts";
import { checkSelection, resolveBulk, type SelectionFlags } from "./selection.ts";
import { listenForInterrupts } from "./signals.ts";

/** What a bulk command was given: where a job may stand, the items, and the options. */
export interface BulkWords {
  readonly job?: string | undefined;
  readonly items?: readonly string[];
  readonly flags: SelectionFlags & { readonly dryRun?: boolean; readonly yes?: boolean };
}

/** The selected letters of one job. */
export interface SelectedLetters {
  readonly job: Job;
  readonly selection: Selection;
}

/** Null when nothing was named and there are no letters. A named item in another state is refused: exit code 5. */
export async function findLetters(
  engine: Engine,
  kind: OperationKind,
  { items, flags, job: word }: BulkWords,
): Promise<SelectedLetters | null> {
  const isNamed = (items ?? []).length > 0 || (word ?? flags.job ?? flags.queue) !== undefined;
  selectionFor(kind, checkSelection(flags)); // options that make no sense are refused even when there are no letters
  const states = kind === "restore" || kind === "clear" ? { states: STATES_OF_KIND[kind] } : {};
  try {
    const { job, selection } = await resolveBulk(engine, { job: word, items, flags, ...states });
    const found = { job, selection: selectionFor(kind, selection) };
    await refuseOtherStates(engine, kind, found);
    return found;
  } catch (error) {
    if (!isNamed && isError(error, "item_not_found")) return null;
    throw error;
  }
}

const SAME_BEGINNING_MAX = 10;

/** To skip a named item without a word would be a surprise. */
export async function refuseOtherStates(
  engine: Engine,
  kind: OperationKind,
  { job, selection }: SelectedLetters,
): Promise<void> {
  const { itemIds = [], states = [] } = selection.filter;
  for (const itemId of itemIds) {
    const { total } = await engine.listLetters({ queue: job.id, itemIds: [itemId], states, limit: 0 });
    if (total > 0) continue;
    const found = await engine.findItems(itemId, { queue: job.id, limit: SAME_BEGINNING_MAX });
    const state = found.find((item) => item.itemId === itemId)?.state;
    const is = state === undefined ? "gone" : stateWord(state);
    const needed = states.map(stateWord).join(" or ");
    throw new WorkError("illegal_move", `${itemId} is ${is}; ${kind} needs a letter that is ${needed}.`, {
      hint: `Show it: redrive dlq inspect ${itemId} --job ${job.id}`,
    });
  }
}

/** The document of something that was not done: a dry run, or nothing to do. */
export function emptyCounts(kind: OperationKind, jobId: string | null, more: JsonObject = {}): JsonObject {
  const counts = { selected: 0, done: 0, redriven: 0, refused: 0, succeeded: 0, failed: 0, remaining: 0 };
  return { operation_id: null, kind, job_id: jobId, ...counts, ...more };
}

export interface Ended<T> {
  readonly result: T;
  /** The exit code when a signal came; null when none did. */
  readonly interrupted: number | null;
}

/** Work on the store that ends soon after its signal. */
export async function interruptible<T>(
  context: Context,
  work: (engine: Engine, signal: AbortSignal) => Promise<T>,
  options: StoreOptions = {},
): Promise<Ended<T>> {
  return context.withStore(async (engine) => {
    const interrupt = listenForInterrupts(
      () => context.note("Stopping after this step; finished changes stay. Press Ctrl-C again to force."),
      () => context.note("\nStopped."),
    );
    try {
      const result = await work(engine, interrupt.signal);
      return { result, interrupted: interrupt.exitCode };
    } finally {
      interrupt.dispose();
    }
  }, options);
}

/** An operation on the letters of one job. Ctrl-C ends it between two steps and leaves it open. */
export function changeLetters(
  context: Context,
  change: (engine: Engine, signal: AbortSignal) => Promise<Operation>,
): Promise<Ended<Operation>> {
  return interruptible(context, async (engine, signal) => {
    const operation = await change(engine, signal);
    await refreshDirectories(context, engine, { jobIds: [operation.queue], count: operation.done });
    return operation;
  });
}

/** That of the signal when the operation is not over; 3 when letters were refused or are left. */
export function changeExitCode({ result, interrupted }: Ended<Operation>): number {
  if (interrupted !== null && !isOver(result)) return interrupted;
  return result.refused + leftOf(result) > 0 ? EXIT.lettersLeft : EXIT.done;
}

/** A command that decides about letters: discard, restore, clear, purge. */
export interface Decision {
  readonly kind: OperationKind;
  readonly verb: string;
  readonly past: string;
  /** It cannot be undone, so it needs a yes: where nobody can answer, `--yes`. */
  readonly mustAsk?: boolean;
  readonly run: (engine: Engine, letters: SelectedLetters, signal: AbortSignal) => Promise<Operation>;
  readonly toJson: (operation: Operation) => JsonObject;
  /** A line after the result. */
  readonly more: (operation: Operation) => string;
}

export async function decide(context: Context, words: BulkWords, decision: Decision): Promise<number> {
  const { kind } = decision;
  const found = await context.withStore(async (engine) => {
    const letters = await findLetters(engine, kind, words);
    return (
      letters && { ...letters, preview: await survey(engine, letters.selection), now: await engine.now() }
    );
  });
  if (found === null || found.preview.total === 0) {
    const of = found === null ? "" : ` of ${found.job.id}`;
    return context.answer(emptyCounts(kind, found?.job.id ?? null), () => `No letters${of} match.\n`);
  }
  if (words.flags.dryRun) return answerPreview(context, decision, found);
  if (!words.flags.yes) await confirmDecision(context, decision, found);
  const changed = await changeLetters(context, (engine, signal) => decision.run(engine, found, signal));
  const { result } = changed;
  return context.answer(decision.toJson(result), () => resultText(result, decision), changeExitCode(changed));
}

interface Found extends SelectedLetters {
  readonly preview: Survey;
  readonly now: number;
}

function answerPreview(context: Context, { kind, verb }: Decision, found: Found): number {
  const { job, preview } = found;
  const more = { dry_run: true, selected: preview.total, ...surveyToJson(preview) };
  return context.answer(
    emptyCounts(kind, job.id, more),
    () =>
      `Would ${verb.toLowerCase()} ${lettersText(preview.total)} of ${job.id}.\n\n${surveyText(context, found)}`,
  );
}

async function confirmDecision(context: Context, decision: Decision, found: Found): Promise<void> {
  const { verb, mustAsk = false } = decision;
  const question = `${verb} ${lettersText(found.preview.total)} of ${found.job.id}?`;
  if (!mustAsk && found.preview.total === 1) return;
  if (mustAsk && !canAnswer(context)) {
    throw new WorkError("usage", `Cancelled: ${question} needs --yes because nobody can answer here.`, {
      hint: "--yes does it; --dry-run shows the letters.",
    });
  }
  if (canAnswer(context)) context.note(surveyText(context, found));
  await confirm(context, question);
}

export const GROUPS_SHOWN_MAX = 20;

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
  if (refused > 0) parts.push(`${refused} refused (see: redrive ops show ${id})`);
  if (!isOver(operation)) parts.push(leftText(operation));
  return `${parts.join(", ")}.\n${more(operation)}`;
}

export function undoHint({ id, done }: Operation): string {
  return done > 0 ? `To undo: redrive ops undo ${id}\n` : "";
}
