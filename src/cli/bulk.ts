/**
 * The steps that all bulk commands on letters share: find the letters, show a preview, ask for confirmation, change the
 * letters until Ctrl-C, update the letter directory of the job, and print the result.
 */
import type { Engine } from "../engine.ts";
import { isError } from "../errors.ts";
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
import { EXIT, userError } from "./exit-code.ts";
import { refreshDirectories } from "./maintenance.ts";
import { noMatchText, resultText, selectedGroupsText, undoHint } from "./render/operation.ts";
import { lettersText } from "./render/text.ts";
import { checkSelection, type LetterWords, resolveBulk } from "./selection.ts";
import { untilInterrupted } from "./signals.ts";

export type BulkWords = LetterWords & { readonly dryRun?: boolean; readonly yes?: boolean };

export interface SelectedLetters {
  readonly job: Job;
  readonly selection: Selection;
}

/**
 * Returns null if no items were given and there are no letters. Refuses a given item in another state (exit
 * code 5).
 */
export async function findLetters(
  engine: Engine,
  kind: OperationKind,
  words: BulkWords,
): Promise<SelectedLetters | null> {
  const { items = [], name, job: jobName, queue } = words;
  selectionFor(kind, checkSelection(words)); // refuses contradictory options even if there are no letters
  const states = kind === "restore" || kind === "clear" ? { states: KIND_RULES[kind].states } : {};
  try {
    const { job, selection } = await resolveBulk(engine, words, states);
    const found = { job, selection: selectionFor(kind, selection) };
    await refuseOtherStates(engine, kind, found);
    return found;
  } catch (error) {
    const isNamed = items.length > 0 || (name ?? jobName ?? queue) !== undefined;
    if (!isNamed && isError(error, "item_not_found")) return null;
    throw error;
  }
}

const SAME_BEGINNING_MAX = 10;

/** Throws if a given item is in another state, so that no given item is skipped silently. */
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
    const message = `${itemId} is ${is}; ${kind} needs a letter that is ${states.map(stateWord).join(" or ")}.`;
    throw userError("illegal_move", message, `Show it: redrive dlq inspect ${itemId} --job ${job.id}`);
  }
}

/** The JSON result of a dry run, or of a command without matching letters. */
export function emptyCounts(kind: OperationKind, jobId: string | null, more: object = {}): object {
  const counts = { selected: 0, done: 0, redriven: 0, refused: 0, succeeded: 0, failed: 0, remaining: 0 };
  return { operation_id: null, kind, job_id: jobId, ...counts, ...more };
}

export interface Ended<T> {
  readonly result: T;
  /** The exit code of the received signal; null if there was none. */
  readonly interrupted: number | null;
}

/** Runs work on the store that stops soon after Ctrl-C. */
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
        () =>
          context.note("Stopping after this step; finished changes are kept. Press Ctrl-C again to force."),
        () => context.note("\nStopped."),
      ),
    options,
  );
}

/** Runs an operation on the letters of one job. Ctrl-C stops it between two steps and leaves the operation open. */
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

/** Returns the signal's exit code if it stopped the operation, or 3 if letters were refused or remain. */
export function changeExitCode({ result, interrupted }: Ended<Operation>): number {
  if (interrupted !== null && !isOver(result)) return interrupted;
  return result.refused + leftOf(result) > 0 ? EXIT.lettersLeft : EXIT.done;
}

/** Asks for confirmation on a terminal if there is more than one letter. Elsewhere the letters are not even counted. */
export async function confirmCount(
  context: Context,
  isAgreed: boolean,
  count: (engine: Engine) => Promise<number>,
  question: (letters: string) => string,
): Promise<void> {
  if (isAgreed || !context.canAnswer) return;
  const letters = await context.withStore(count);
  if (letters > 1) await context.confirm(question(lettersText(letters)));
}

/** A bulk command: discard, restore, clear or purge. */
interface Decision {
  readonly kind: OperationKind;
  readonly verb: "Discard" | "Restore" | "Delete";
  /** The change cannot be undone, so it requires a confirmation, or `--yes` if there is no terminal. */
  readonly mustAsk?: boolean;
  readonly run: (
    engine: Engine,
    scope: { queue: string; selection: Selection; author: string; signal: AbortSignal },
  ) => Promise<Operation>;
  /** Default: the JSON of the operation. */
  readonly toJson?: (operation: Operation) => JsonObject;
  /** A line to print after the result. Default: how to undo the operation. */
  readonly more?: (operation: Operation) => string;
}

export async function decide(context: Context, words: BulkWords, decision: Decision): Promise<number> {
  const { kind, verb, mustAsk = false, run, toJson = operationToJson, more = undoHint } = decision;
  const found = await context.withStore(async (engine) => {
    const letters = await findLetters(engine, kind, words);
    return (
      letters && { ...letters, preview: await survey(engine, letters.selection), now: await engine.now() }
    );
  });
  if (found === null || found.preview.total === 0)
    return context.answer(emptyCounts(kind, found?.job.id ?? null), () => noMatchText(found?.job.id));
  const { job, selection, preview } = found;
  const what = `${lettersText(preview.total)} of ${job.id}`;
  if (words.dryRun) {
    const counts = { dry_run: true, selected: preview.total, ...surveyToJson(preview) };
    const text = () => `Would ${verb.toLowerCase()} ${what}.\n\n${surveyText(context, found)}`;
    return context.answer(emptyCounts(kind, job.id, counts), text);
  }
  if (!words.yes && (mustAsk || preview.total > 1)) {
    const question = `${verb} ${what}?`;
    if (context.canAnswer) context.note(surveyText(context, found));
    else if (mustAsk) throw unanswered(question);
    await context.confirm(question);
  }
  const changed = await changeLetters(context, (engine, signal) =>
    run(engine, { queue: job.id, selection, author: context.author, signal }),
  );
  const { result } = changed;
  const past = verb.endsWith("e") ? `${verb}d` : `${verb}ed`;
  const text = () => resultText(result, `${past} ${lettersText(result.done)}`) + more(result);
  return context.answer(toJson(result), text, changeExitCode(changed));
}

function unanswered(question: string) {
  const hint = "Add --yes to confirm, or --dry-run to see the letters.";
  return userError(
    "usage",
    `This needs --yes, because there is no terminal to confirm it: ${question}`,
    hint,
  );
}

function surveyText(context: Context, { preview, now }: { preview: Survey; now: number }): string {
  const { groups, oldestAt = now, newestAt = now } = preview;
  const ages = `The oldest died ${formatDuration(now - oldestAt)} ago, the newest ${formatDuration(now - newestAt)} ago.`;
  return `${selectedGroupsText(groups, context)}${ages}\n`;
}
