/**
 * Corrects the data of letters. An amendment is a new revision of an item's data; earlier revisions are kept.
 * A bulk edit is one operation that computes each letter's change from that letter's own data and can be
 * undone as a whole.
 */
import type { Engine, StoredLetter } from "../engine.ts";
import {
  type LetterStep,
  type Operation,
  operationToJson,
  REFUSAL,
  type SelectedLetter,
} from "../item/operation.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { type Change, diffJson, isSameJson } from "./json-diff.ts";
import { beginSelected, workThrough } from "./operation.ts";
import { type Amended, compileRecipe, type Recipe, recipeFromJson, recipeToJson } from "./recipe.ts";
import { type Selection, selectionFor, selectLetters } from "./select.ts";

export interface EditRequest {
  readonly queue: string;
  readonly selection: Selection;
  readonly recipe: Recipe;
  readonly author: string;
  /** The reason for the change, stored with each amendment. */
  readonly note?: string;
  /** Aborting it stops the edit between two steps and leaves the operation open. */
  readonly signal?: AbortSignal;
}

/** Edits the letters that match now. A recipe that does not compile changes nothing. */
export async function editLetters(engine: Engine, request: EditRequest): Promise<Operation> {
  const { queue, author, recipe, note, signal } = request;
  await compileRecipe(recipe);
  const plan = { ...recipeToJson(recipe), ...(note !== undefined && { note }) };
  const selection = selectionFor("edit", request.selection);
  const begun = await beginSelected(engine, { kind: "edit", queue, author, selection, plan, signal });
  return continueEdit(engine, begun, { signal });
}

/** The JSON Schema for a queue's data, if its job has one. */
export function schemasOf(spec: JsonObject): readonly Json[] {
  return isJsonObject(spec.schema) || typeof spec.schema === "boolean" ? [spec.schema] : [];
}

/** The outcome of a dry run. */
export interface EditPreview {
  readonly selected: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  /** Sorted by frequency, highest first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  /** The first changed letters, newest first. */
  readonly shown: readonly { readonly itemId: string; readonly changes: readonly Change[] }[];
}

const REASONS_MAX = 100;

/** Computes every change without writing anything. */
export async function previewEdit(
  engine: Engine,
  { selection, recipe, showMax }: { selection: Selection; recipe: Recipe; showMax: number },
): Promise<EditPreview> {
  const amend = await compileRecipe(recipe);
  const counts = { selected: 0, changed: 0, unchanged: 0, refused: 0 };
  const reasons = new Map<string, number>();
  const shown: EditPreview["shown"][number][] = [];
  for await (const letter of selectLetters(engine, selectionFor("edit", selection))) {
    const amended = amend(letter);
    const result = resultOf(letter, amended);
    counts.selected += 1;
    counts[result] += 1;
    if (!amended.ok) countReason(reasons, amended.reason);
    else if (result === "changed" && shown.length < showMax)
      shown.push({ itemId: letter.itemId, changes: diffJson(letter.itemData, amended.data) });
  }
  const refusals = [...reasons].map(([reason, count]) => ({ reason, count }));
  return { ...counts, refusals: refusals.sort((a, b) => b.count - a.count), shown };
}

function resultOf(letter: StoredLetter, amended: Amended): "changed" | "unchanged" | "refused" {
  if (!amended.ok) return "refused";
  return isSameJson(letter.itemData, amended.data) ? "unchanged" : "changed";
}

/** Reasons that quote data may all differ, so the map has a limit and counts the rest as one. */
function countReason(reasons: Map<string, number>, reason: string): void {
  const key = reasons.has(reason) || reasons.size < REASONS_MAX ? reason : "other reasons";
  reasons.set(key, (reasons.get(key) ?? 0) + 1);
}

/** Limits memory use: the history of one letter may hold megabytes of output. */
const CHUNK_MAX = 200;

/** Runs an edit, or the undo of one, from its last completed step to the end. */
export async function continueEdit(
  engine: Engine,
  begun: Operation,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Operation> {
  const stepOf = await stepMaker(engine, begun);
  return workThrough(engine, begun, {
    chunkMax: CHUNK_MAX,
    signal,
    stepFor: async (pending, operation) => {
      const steps: EditStep[] = [];
      for (const selected of pending) steps.push(await stepOf(selected));
      const unchanged = unchangedIn(operation) + steps.filter((step) => step.isUnchanged).length;
      return { letters: steps.map(({ step }) => step), progress: { unchanged } };
    },
  });
}

/** How many letters already had the new data and therefore got no new revision. */
export function unchangedIn({ progress }: Operation): number {
  return typeof progress.unchanged === "number" ? progress.unchanged : 0;
}

/** The operation's document plus the numbers of changed and unchanged letters. */
export function editToJson(operation: Operation): JsonObject {
  const unchanged = Math.min(unchangedIn(operation), operation.done);
  return { ...operationToJson(operation), changed: operation.done - unchanged, unchanged };
}

interface EditStep {
  readonly step: LetterStep;
  readonly isUnchanged: boolean;
}

/**
 * Returns a function that computes one letter's step. The step names the revision it read, so a concurrent
 * change is refused instead of overwritten.
 */
async function stepMaker(
  engine: Engine,
  { undoes, plan }: Operation,
): Promise<(selected: SelectedLetter) => Promise<EditStep>> {
  const amend = undoes === undefined ? await compileRecipe(recipeFromJson(plan)) : undefined;
  const note = typeof plan.note === "string" ? { note: plan.note } : {};
  return async ({ letterSequence, ref }) => {
    const letter = await engine.readLetter(ref);
    if (letter === null || letter.letterSequence !== letterSequence)
      return refused(letterSequence, undoes === undefined ? REFUSAL.gone : "it was run again or left since");
    const amended = amend ? amend(letter) : await dataBefore(engine, letter, undoes ?? "");
    if (!amended.ok) return refused(letterSequence, amended.reason);
    return {
      step: { letterSequence, revision: letter.revision, data: amended.data, ...note },
      isUnchanged: isSameJson(amended.data, letter.itemData),
    };
  };
}

function refused(letterSequence: number, reason: string): EditStep {
  return { step: { letterSequence, refuse: reason }, isUnchanged: false };
}

/** The data from before the undone edit. Refused if the data has changed since then. */
async function dataBefore(engine: Engine, letter: StoredLetter, undone: string): Promise<Amended> {
  const amendments = await engine.listAmendments(letter.ref);
  const amendment = amendments.findLast((one) => one.operationId === undone);
  if (amendment === undefined) return { ok: true, data: letter.itemData }; // the edit made no change to undo
  if (amendment.revision === letter.revision) return { ok: true, data: amendment.before };
  return { ok: false, reason: `its data was changed since (revision ${letter.revision})` };
}
