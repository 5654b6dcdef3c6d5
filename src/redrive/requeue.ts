/**
 * Sends letters anew: each becomes another item of its queue, with its data as it is or corrected, and the letter is
 * closed. The two name each other, so that neither's history is lost. Never touches an item that is there.
 */
import type { Engine, StoredLetter } from "../engine.ts";
import { type LetterStep, type Operation, REFUSAL, type SelectedLetter } from "../item/operation.ts";
import { PRIORITIES, type Priority } from "../item/priority.ts";
import { schemasOf } from "./amend.ts";
import { isSameJson } from "./json-diff.ts";
import { beginSelected } from "./operation.ts";
import { type Amend, compileRecipe, type Recipe, recipeFromJson, recipeToJson } from "./recipe.ts";
import { type Selection, selectLetters } from "./select.ts";
import { selectionFor } from "./selection-for.ts";
import { workThrough } from "./work-through.ts";

export interface RequeueRequest {
  readonly queue: string;
  readonly selection: Selection;
  readonly author: string;
  /** What the new items' data differs in. Default: nothing. */
  readonly recipe?: Recipe;
  /** The priority of the new items. Default: that of each letter's item. */
  readonly priority?: Priority;
  /** Also letters that are not eligible, as they are. Default false. */
  readonly force?: boolean;
  /** Ends the work between two steps; the operation stays open. */
  readonly signal?: AbortSignal;
}

/** Sends the dead letters that are selected now. A recipe that cannot be compiled sends nothing. */
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

/** A letter may have megabytes of output in its history; so many fit into memory. */
const CHUNK_MAX = 200;

/** Works it to its end from wherever it is. */
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

/** A new item obeys the rule of its queue like any other, also when its data stays as it was. */
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
  { burial, ref }: SelectedLetter,
  { amend, begun }: { readonly amend: Amend; readonly begun: Operation },
): Promise<LetterStep> {
  const letter = await engine.readLetter(ref);
  if (letter === null || letter.burial !== burial) return { burial, refuse: REFUSAL.gone };
  return judge(letter, { amend, force: begun.force });
}

function judge(
  letter: StoredLetter,
  { amend, force }: { readonly amend: Amend; readonly force: boolean },
): LetterStep {
  const { burial, revision, itemData } = letter;
  const amended = amend(letter);
  if (!amended.ok) return { burial, refuse: amended.reason };
  if (!force && !mayGo(letter, isSameJson(amended.data, itemData)))
    return { burial, refuse: REFUSAL.ineligible };
  return { burial, revision, data: amended.data };
}

/** What was judged was the data that the letter died with; of other data nobody has judged yet. */
function mayGo({ reprocessEligible, toxic }: StoredLetter, isSame: boolean): boolean {
  return !isSame || (reprocessEligible && !toxic);
}

/** What a requeue would do. */
export interface RequeuePreview {
  readonly selected: number;
  readonly sent: number;
  /** The most frequent reason first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
}

/** Judges every letter, and writes nothing. */
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

/** A letter and the item that it was sent anew as. */
export interface SentAnew {
  readonly itemId: string;
  readonly newId: string;
}

/** The first of what a requeue has made, in the order of the burials. */
export async function listSentAnew(
  engine: Engine,
  operation: Operation,
  limit: number,
): Promise<readonly SentAnew[]> {
  const sent: SentAnew[] = [];
  for (const { itemId } of await engine.listSelected(operation.id, { status: "done", limit })) {
    const found = await engine.findItems(itemId, { queue: operation.queue, limit: 1 });
    const newId = found.find((one) => one.itemId === itemId)?.requeuedAs?.at(-1);
    if (newId !== undefined) sent.push({ itemId, newId });
  }
  return sent;
}
