/** Corrects the data of letters. An edit makes a new revision; a requeue makes a new item that replaces the letter. */
import type { Engine, StoredLetter } from "../engine.ts";
import { PRIORITIES, type Priority } from "../item/item.ts";
import { type Operation, operationToJson, REFUSAL } from "../item/operation.ts";
import { compact, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { type Change, diffJson, isSameJson } from "../std/json-diff.ts";
import { type BulkRequest, beginSelected, type Interruptible, stepsFor, workThrough } from "./operation.ts";
import { ReasonCounts, type Refusals } from "./preview.ts";
import { type Amended, compileRecipe, type Recipe, recipeFromJson, recipeToJson } from "./recipe.ts";
import { type Selection, selectionFor, selectLetters } from "./select.ts";

/** The letters and the change of an edit. */
export interface EditRequest extends BulkRequest {
  readonly recipe: Recipe;
  /** The reason for the change, stored with each amendment. */
  readonly note?: string;
}

/** Edits the letters that match now. If the recipe does not compile, nothing is changed. */
export function editLetters(engine: Engine, { note, ...request }: EditRequest): Promise<Operation> {
  return begin(engine, { ...request, kind: "edit" }, { note }).then((begun) =>
    continueEdit(engine, begun, request),
  );
}

/** Compiles the recipe first, because a recipe that does not compile must not create an operation. */
async function begin(
  engine: Engine,
  { recipe = {}, ...request }: BulkRequest & { kind: "edit" | "requeue"; recipe?: Recipe },
  options: { note?: string | undefined; priority?: Priority | undefined },
): Promise<Operation> {
  await compileRecipe(recipe);
  const selection = selectionFor(request.kind, request.selection);
  return beginSelected(engine, {
    ...request,
    selection,
    plan: compact({ ...recipeToJson(recipe), ...options }),
  });
}

/** The JSON Schema for a queue's data, if its job has one. */
export function schemasOf(spec: JsonObject): readonly Json[] {
  return isJsonObject(spec.schema) || typeof spec.schema === "boolean" ? [spec.schema] : [];
}

export async function schemasFor(engine: Engine, queue: string): Promise<readonly Json[]> {
  const job = await engine.findJob(queue);
  return job === null ? [] : schemasOf(job.spec);
}

export interface EditPreview {
  readonly selected: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  readonly refusals: Refusals;
  /** The first changed letters, newest first. */
  readonly shown: readonly { readonly itemId: string; readonly changes: readonly Change[] }[];
}

export async function previewEdit(
  engine: Engine,
  { selection, recipe, showMax }: { selection: Selection; recipe: Recipe; showMax: number },
): Promise<EditPreview> {
  const amend = await compileRecipe(recipe);
  const counts = { selected: 0, changed: 0, unchanged: 0, refused: 0 };
  const reasons = new ReasonCounts();
  const shown: EditPreview["shown"][number][] = [];
  for await (const { itemId, ...letter } of selectLetters(engine, selectionFor("edit", selection))) {
    const amended = amend({ itemId, ...letter });
    counts.selected += 1;
    if (!amended.ok) {
      counts.refused += 1;
      reasons.add(amended.reason);
    } else if (isSameJson(letter.itemData, amended.data)) counts.unchanged += 1;
    else {
      counts.changed += 1;
      if (shown.length < showMax) shown.push({ itemId, changes: diffJson(letter.itemData, amended.data) });
    }
  }
  return { ...counts, refusals: reasons.list(), shown };
}

/** Limits memory use: the history of one letter may hold megabytes of output. */
const CHUNK_MAX = 200;

/** Computes the new data of a letter. */
export type EditLetter = (letter: StoredLetter) => Amended | Promise<Amended>;

/**
 * Edits the letters that match now with a function of this program. Only this process can finish the
 * operation.
 */
export async function editByFunction(
  engine: Engine,
  { note, ...request }: BulkRequest & { note?: string | undefined },
  edit: EditLetter,
): Promise<Operation> {
  const selection = selectionFor("edit", request.selection);
  const plan = compact({ note, function: true });
  const begun = await beginSelected(engine, { ...request, kind: "edit", selection, plan });
  try {
    const { signal } = request;
    const edited = await workEdit(engine, begun, { amend: edit, gone: REFUSAL.gone, signal });
    return signal?.aborted && edited.endedAt === undefined ? await endWithoutFunction(engine, begun) : edited;
  } catch (error) {
    await endWithoutFunction(engine, begun);
    throw error;
  }
}

/** Refuses the letters that a function has not edited, because the operation does not contain the function. */
async function endWithoutFunction(engine: Engine, { id }: Operation): Promise<Operation> {
  await engine.changeOperation(id, { refuseRest: "the program that edits the letters has ended" });
  return engine.closeOperation(id);
}

/** Runs an edit, or the undo of one, from its last completed step to the end. */
export async function continueEdit(engine: Engine, begun: Operation, { signal }: Interruptible = {}) {
  const { undoes, plan } = begun;
  if (plan.function === true) return endWithoutFunction(engine, begun);
  const amend = undoes === undefined ? await compileRecipe(recipeFromJson(plan)) : dataBefore(undoes);
  const gone = undoes === undefined ? REFUSAL.gone : "it was retried or removed since then";
  return workEdit(engine, begun, { amend, gone, signal });
}

async function workEdit(
  engine: Engine,
  begun: Operation,
  { amend, gone, signal }: Interruptible & { amend: EditLetter; gone: string },
): Promise<Operation> {
  const { plan } = begun;
  const note = typeof plan.note === "string" ? { note: plan.note } : {};
  return workThrough(engine, begun, {
    chunkMax: CHUNK_MAX,
    signal,
    stepFor: async (pending, operation) => {
      let unchanged = unchangedIn(operation);
      const edit = async (letter: StoredLetter) => {
        const amended = await amend(letter);
        if (!amended.ok) return amended.reason;
        if (isSameJson(amended.data, letter.itemData)) unchanged += 1;
        return { data: amended.data, ...note };
      };
      return { letters: await stepsFor(engine, pending, edit, gone), progress: { unchanged } };
    },
  });
}

/** Restores the data from before the undone edit. Refuses letters whose data has changed since then. */
function dataBefore(undone: string): (letter: StoredLetter) => Amended {
  return ({ amendments = [], itemData, revision }) => {
    const amendment = amendments.findLast((one) => one.operationId === undone);
    if (amendment === undefined) return { ok: true, data: itemData }; // the edit made no change to undo
    if (amendment.revision === revision) return { ok: true, data: amendment.before };
    return { ok: false, reason: `its data has changed since then (revision ${revision})` };
  };
}

/** How many letters already had the new data and therefore got no new revision. */
function unchangedIn({ progress }: Operation): number {
  return typeof progress.unchanged === "number" ? progress.unchanged : 0;
}

export function editToJson(operation: Operation): JsonObject {
  const unchanged = Math.min(unchangedIn(operation), operation.done);
  return { ...operationToJson(operation), changed: operation.done - unchanged, unchanged };
}

/** The letters to requeue as new items. */
export interface RequeueRequest extends BulkRequest {
  /** The change to the new items' data. Default: none. */
  readonly recipe?: Recipe;
  /** The priority of the new items. Default: that of each letter's item. */
  readonly priority?: Priority;
  /** Also requeues letters that are not eligible, without changing their data. Default false. */
  readonly force?: boolean;
}

/** Requeues the dead letters that match now. If the recipe does not compile, nothing is requeued. */
export function requeueLetters(engine: Engine, { priority, ...request }: RequeueRequest): Promise<Operation> {
  return begin(engine, { ...request, kind: "requeue" }, { priority }).then((begun) =>
    continueRequeue(engine, begun, request),
  );
}

export async function continueRequeue(engine: Engine, begun: Operation, { signal }: Interruptible = {}) {
  const judge = await requeueJudge(engine, begun);
  const priority = PRIORITIES.find((one) => one === begun.plan.priority);
  return workThrough(engine, begun, {
    chunkMax: CHUNK_MAX,
    signal,
    stepFor: async (pending) => {
      const letters = await stepsFor(engine, pending, judge);
      if (priority === undefined) return { letters };
      return { letters: letters.map((step) => (step.refuse === undefined ? { ...step, priority } : step)) };
    },
  });
}

/**
 * Returns a letter's new data, or the reason to refuse it. The queue's schema applies to unchanged data, too.
 * Eligibility was determined for the data that failed, so it does not apply to changed data.
 */
async function requeueJudge(
  engine: Engine,
  { plan, queue, force }: Pick<Operation, "plan" | "queue" | "force">,
): Promise<(letter: StoredLetter) => string | { readonly data: Json }> {
  const recipe = recipeFromJson(plan);
  const schemas = [...(await schemasFor(engine, queue)), ...(recipe.schemas ?? [])];
  const amend = await compileRecipe({ ...recipe, schemas });
  return (letter) => {
    const amended = amend(letter);
    if (!amended.ok) return amended.reason;
    const { data } = amended;
    const isEligible = letter.reprocessEligible && !letter.poison;
    return force || isEligible || !isSameJson(data, letter.itemData) ? { data } : REFUSAL.ineligible;
  };
}

export async function previewRequeue(
  engine: Engine,
  { queue, selection, recipe = {}, force = false }: Omit<RequeueRequest, "author" | "signal">,
): Promise<{ readonly selected: number; readonly sent: number; readonly refusals: Refusals }> {
  const judge = await requeueJudge(engine, { queue, force, plan: recipeToJson(recipe) });
  const reasons = new ReasonCounts();
  let [selected, sent] = [0, 0];
  for await (const letter of selectLetters(engine, selectionFor("requeue", selection))) {
    const answer = judge(letter);
    selected += 1;
    if (typeof answer === "string") reasons.add(answer);
    else sent += 1;
  }
  return { selected, sent, refusals: reasons.list() };
}

export type RequeuedLetter = { readonly itemId: string; readonly newId: string };

export async function listRequeued(engine: Engine, operation: Operation, limit: number) {
  const sent: RequeuedLetter[] = [];
  for (const { itemId } of await engine.listSelected(operation.id, { status: "done", limit })) {
    const found = await engine.findItems(itemId, { queue: operation.queue, limit: 1 });
    const newId = found.find((one) => one.itemId === itemId)?.requeuedAs?.at(-1);
    if (newId !== undefined) sent.push({ itemId, newId });
  }
  return sent;
}
