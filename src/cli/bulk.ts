/**
 * What every command that changes many letters has in common: it finds the letters, shows a preview, asks, changes them
 * until Ctrl-C, updates the letter directory of the job, and prints the result.
 */
import type { Engine } from "../engine.ts";
import { isError, WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import {
  KIND_RULES,
  leftOf,
  type Operation,
  type OperationKind,
  operationToJson,
} from "../item/operation.ts";
import { isOver } from "../redrive/change-operation.ts";
import { type Survey, survey, surveyToJson } from "../redrive/preview.ts";
import { type Selection, selectionFor, stateWord } from "../redrive/select.ts";
import { formatDuration } from "../std/duration.ts";
import type { JsonObject } from "../std/json.ts";
import type { Context, StoreOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { refreshDirectories } from "./maintenance.ts";
import { canAnswer, confirm } from "./prompt.ts";
import { noMatchText, resultText, selectedGroupsText, undoHint } from "./render/operation.ts";
import { lettersText } from "./render/words.ts";
import { checkSelection, resolveBulk, type SelectionFlags } from "./selection.ts";
import { untilInterrupted } from "./signals.ts";

export interface BulkWords {
  readonly job?: string | undefined;
  readonly items?: readonly string[];
  readonly flags: SelectionFlags & BulkFlags;
}

export interface BulkFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function wordsFrom({
  items,
  ...flags
}: BulkWords["flags"] & { readonly items: readonly string[] }): BulkWords {
  return { items, flags };
}

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
  const states = kind === "restore" || kind === "clear" ? { states: KIND_RULES[kind].states } : {};
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

/** A named item is never skipped silently. */
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

/** The document of a dry run, or of a command that had nothing to do. */
export function emptyCounts(kind: OperationKind, jobId: string | null, more: object = {}): object {
  const counts = { selected: 0, done: 0, redriven: 0, refused: 0, succeeded: 0, failed: 0, remaining: 0 };
  return { operation_id: null, kind, job_id: jobId, ...counts, ...more };
}

export interface Ended<T> {
  readonly result: T;
  /** The exit code when a signal came; null when none did. */
  readonly interrupted: number | null;
}

/** Work on the store that ends soon after Ctrl-C. */
export async function interruptible<T>(
  context: Context,
  work: (engine: Engine, signal: AbortSignal) => Promise<T>,
  options: StoreOptions = {},
): Promise<Ended<T>> {
  return context.withStore(
    (engine) =>
      untilInterrupted(
        async (interrupt) => ({
          result: await work(engine, interrupt.signal),
          interrupted: interrupt.exitCode,
        }),
        () => context.note("Stopping after this step; finished changes stay. Press Ctrl-C again to force."),
        () => context.note("\nStopped."),
      ),
    options,
  );
}

/** Runs an operation on the letters of one job. Ctrl-C ends it between two steps and leaves it open. */
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

/** The code of the signal when the operation is not over; 3 when letters were refused or are left. */
export function changeExitCode({ result, interrupted }: Ended<Operation>): number {
  if (interrupted !== null && !isOver(result)) return interrupted;
  return result.refused + leftOf(result) > 0 ? EXIT.lettersLeft : EXIT.done;
}

/** Counts only where somebody can answer. One letter is changed without a question. */
export async function confirmCount(
  context: Context,
  {
    flags,
    question,
    count,
  }: {
    readonly flags: { readonly yes?: boolean };
    readonly question: (letters: string) => string;
    readonly count: (engine: Engine) => Promise<number>;
  },
): Promise<void> {
  if (flags.yes || !canAnswer(context)) return;
  const letters = await context.withStore(count);
  if (letters > 1) await confirm(context, question(lettersText(letters)));
}

/** A command that decides about letters: discard, restore, clear, purge. */
export interface Decision {
  readonly kind: OperationKind;
  readonly verb: "Discard" | "Restore" | "Delete";
  /** It cannot be undone, so it needs a yes: where nobody can answer, `--yes`. */
  readonly mustAsk?: boolean;
  readonly run: (engine: Engine, scope: Scope) => Promise<Operation>;
  /** Default: the operation. */
  readonly toJson?: (operation: Operation) => JsonObject;
  /** A line after the result. Default: how to undo it. */
  readonly more?: (operation: Operation) => string;
}

export interface Scope {
  readonly queue: string;
  readonly selection: Selection;
  readonly author: string;
  readonly signal: AbortSignal;
}

export async function decide(context: Context, words: BulkWords, decision: Decision): Promise<number> {
  const { kind, verb, run, toJson = operationToJson, more = undoHint } = decision;
  const found = await context.withStore(async (engine) => {
    const letters = await findLetters(engine, kind, words);
    return (
      letters && { ...letters, preview: await survey(engine, letters.selection), now: await engine.now() }
    );
  });
  if (found === null || found.preview.total === 0)
    return context.answer(emptyCounts(kind, found?.job.id ?? null), () => noMatchText(found?.job.id));
  const { job, selection, preview } = found;
  if (words.flags.dryRun) {
    const counts = { dry_run: true, selected: preview.total, ...surveyToJson(preview) };
    const would = `Would ${verb.toLowerCase()} ${lettersText(preview.total)} of ${job.id}.\n`;
    return context.answer(emptyCounts(kind, job.id, counts), () => `${would}\n${surveyText(context, found)}`);
  }
  if (!words.flags.yes) await confirmDecision(context, decision, found);
  const changed = await changeLetters(context, (engine, signal) =>
    run(engine, { queue: job.id, selection, author: context.author, signal }),
  );
  const { result } = changed;
  const past = verb.endsWith("e") ? `${verb}d` : `${verb}ed`;
  const text = () => resultText(result, `${past} ${lettersText(result.done)}`) + more(result);
  return context.answer(toJson(result), text, changeExitCode(changed));
}

interface Found extends SelectedLetters {
  readonly preview: Survey;
  readonly now: number;
}

async function confirmDecision(context: Context, decision: Decision, found: Found): Promise<void> {
  const { verb, mustAsk = false } = decision;
  const question = `${verb} ${lettersText(found.preview.total)} of ${found.job.id}?`;
  if (!mustAsk && found.preview.total === 1) return;
  if (mustAsk && !canAnswer(context)) {
    throw new WorkError("usage", `Nobody can answer here, so this needs --yes: ${question}`, {
      hint: "Add --yes to confirm, or --dry-run to see the letters.",
    });
  }
  if (canAnswer(context)) context.note(surveyText(context, found));
  await confirm(context, question);
}

function surveyText(context: Context, { preview, now }: Found): string {
  const { groups, oldestAt = now, newestAt = now } = preview;
  const ages = `The oldest died ${formatDuration(now - oldestAt)} ago, the newest ${formatDuration(now - newestAt)} ago.`;
  return `${selectedGroupsText(groups, context)}${ages}\n`;
}
