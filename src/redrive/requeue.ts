/**
 * Requeues letters as new: each becomes a new item of its queue, with the same or corrected data, and the
 * letter is resolved. Letter and item refer to each other, so that the history stays connected. Existing
 * items are never changed.
 */
import type { Engine, StoredLetter } from "../engine.ts";
import { PRIORITIES, type Priority } from "../item/item.ts";
import { type LetterStep, type Operation, REFUSAL, type SelectedLetter } from "../item/operation.ts";
import { schemasOf } from "./amend.ts";
import { isSameJson } from "./json-diff.ts";
import { beginSelected, workThrough } from "./operation.ts";
import { type Amend, compileRecipe, type Recipe, recipeFromJson, recipeToJson } from "./recipe.ts";
import { type Selection, selectionFor, selectLetters } from "./select.ts";

export interface RequeueRequest {
  readonly queue: string;
  readonly selection: Selection;
  readonly author: string;
  /** The change to the new items' data. Default: none. */
  readonly recipe?: Recipe;
  /** The priority of the new items. Default: that of each letter's item. */
  readonly priority?: Priority;
  /** Also requeues letters that are not eligible without changing their data. Default false. */
  readonly force?: boolean;
  /** Aborting it stops the work between two steps and leaves the operation open. */
  readonly signal?: AbortSignal;
}

/** Requeues the dead letters that match now. A recipe that does not compile requeues nothing. */
export async function requeueLetters(engine: Engine, request: RequeueRequest): Promise<Operation> {
  const { queue, author, recipe = {}, priority, force = false, signal } = request;
  await compileRecipe(recipe);
  const selection = selectionFor("requeue", request.selection);
  const plan = { ...recipeToJson(recipe), ...(priority !== undefined && { priority }) };
  const begun = await beginSelected(engine, {
    ...{ kind: "requeue", queue, author, force, selection, plan },
    ...(signal && { signal }),
  });
  return continueRequeue(engine, begun, { signal });
}

/** Limits memory use: the history of one letter may hold megabytes of output. */
const CHUNK_MAX = 200;

/** Runs a requeue from its last completed step to the end. */
export async function continueRequeue(
  engine: Engine,
  begun: Operation,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Operation> {
  const amend = await amenderFor(engine, begun);
  const priority = PRIORITIES.find((one) => one === begun.plan.priority);
  return workThrough(engine, begun, {
    chunkMax: CHUNK_MAX,
    signal,
    stepFor: async (pending) => {
      const letters: LetterStep[] = [];
      for (const selected of pending) {
        const step = await stepFor(engine, selected, { amend, begun });
        letters.push(step.refuse !== undefined || priority === undefined ? step : { ...step, priority });
      }
      return { letters };
    },
  });
}

/** Includes the queue's own schema: new items must satisfy it, also with unchanged data. */
async function amenderFor(
  engine: Engine,
  { plan, queue }: Pick<Operation, "plan" | "queue">,
): Promise<Amend> {
  const recipe = recipeFromJson(plan);
  const job = await engine.findJob(queue);
  const own = job === null ? [] : schemasOf(job.spec);
  return compileRecipe({ ...recipe, schemas: [...own, ...(recipe.schemas ?? [])] });
}

async function stepFor(
  engine: Engine,
  { letterSequence, ref }: SelectedLetter,
  { amend, begun }: { readonly amend: Amend; readonly begun: Operation },
): Promise<LetterStep> {
  const letter = await engine.readLetter(ref);
  if (letter === null || letter.letterSequence !== letterSequence)
    return { letterSequence, refuse: REFUSAL.gone };
  return judge(letter, { amend, force: begun.force });
}

function judge(
  letter: StoredLetter,
  { amend, force }: { readonly amend: Amend; readonly force: boolean },
): LetterStep {
  const { letterSequence, revision, itemData } = letter;
  const amended = amend(letter);
  if (!amended.ok) return { letterSequence, refuse: amended.reason };
  if (!force && !mayRequeue(letter, isSameJson(amended.data, itemData)))
    return { letterSequence, refuse: REFUSAL.ineligible };
  return { letterSequence, revision, data: amended.data };
}

/** Eligibility was decided for the data that failed, so it does not apply to changed data. */
function mayRequeue({ reprocessEligible, poison }: StoredLetter, isSame: boolean): boolean {
  return !isSame || (reprocessEligible && !poison);
}

export interface RequeuePreview {
  readonly selected: number;
  readonly sent: number;
  /** Most frequent first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
}

/** Checks every letter without writing anything. */
export async function previewRequeue(
  engine: Engine,
  { queue, selection, recipe = {}, force = false }: Omit<RequeueRequest, "author" | "signal">,
): Promise<RequeuePreview> {
  const amend = await amenderFor(engine, { queue, plan: recipeToJson(recipe) });
  const reasons = new Map<string, number>();
  let selected = 0;
  for await (const letter of selectLetters(engine, selectionFor("requeue", selection))) {
    selected += 1;
    const { refuse } = judge(letter, { amend, force });
    if (refuse !== undefined) reasons.set(refuse, (reasons.get(refuse) ?? 0) + 1);
  }
  const refusals = [...reasons].map(([reason, count]) => ({ reason, count }));
  const refused = refusals.reduce((sum, { count }) => sum + count, 0);
  return { selected, sent: selected - refused, refusals: refusals.sort((a, b) => b.count - a.count) };
}

/** A letter's item, and the new item made from it. */
export interface RequeuedLetter {
  readonly itemId: string;
  readonly newId: string;
}

/** The first new items of a requeue, in the order of their letters. */
export async function listRequeued(
  engine: Engine,
  operation: Operation,
  limit: number,
): Promise<readonly RequeuedLetter[]> {
  const sent: RequeuedLetter[] = [];
  for (const { itemId } of await engine.listSelected(operation.id, { status: "done", limit })) {
    const found = await engine.findItems(itemId, { queue: operation.queue, limit: 1 });
    const newId = found.find((one) => one.itemId === itemId)?.requeuedAs?.at(-1);
    if (newId !== undefined) sent.push({ itemId, newId });
  }
  return sent;
}
