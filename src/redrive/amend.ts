/**
 * Corrects the data of letters. An amendment is a new revision of an item's data; the one before it is kept. Many at once
 * are one operation, each letter changed from its own data, and taken back as one.
 */
import type { Engine, StoredLetter } from "../engine.ts";
import {
  type LetterStep,
  type Operation,
  operationToJson,
  REFUSAL,
  type SelectedLetter,
} from "../item/operation.ts";
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";
import { type Change, diffJson, isSameJson } from "./json-diff.ts";
import { beginSelected } from "./operation.ts";
import { type Amended, compileRecipe, type Recipe, recipeFromJson, recipeToJson } from "./recipe.ts";
import { type Selection, selectLetters } from "./select.ts";
import { selectionFor } from "./selection-for.ts";
import { workThrough } from "./work-through.ts";

export interface EditRequest {
  readonly queue: string;
  readonly selection: Selection;
  readonly recipe: Recipe;
  readonly author: string;
  /** Why; kept with each amendment. */
  readonly note?: string;
  /** Ends the work between two steps; the operation stays open. */
  readonly signal?: AbortSignal;
}

/** Changes the letters that are selected now. A recipe that cannot be compiled changes nothing. */
export async function editLetters(engine: Engine, request: EditRequest): Promise<Operation> {
  const { queue, author, recipe, note, signal } = request;
  await compileRecipe(recipe);
  const plan = { ...recipeToJson(recipe), ...(note !== undefined && { note }) };
  const selection = selectionFor("edit", request.selection);
  const begun = await beginSelected(engine, { kind: "edit", queue, author, selection, plan, signal });
  return continueEdit(engine, begun, { signal });
}

/** The rule of a job's queue, if it has one. */
export function schemasOf(spec: JsonObject): readonly Json[] {
  return isJsonObject(spec.schema) || typeof spec.schema === "boolean" ? [spec.schema] : [];
}

/** What an edit would do. */
export interface EditPreview {
  readonly selected: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  /** The most frequent reason first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  /** The first of those that change, newest first. */
  readonly shown: readonly { readonly itemId: string; readonly changes: readonly Change[] }[];
}

const REASONS_MAX = 100;

/** Computes every change and counts all of them; nothing is written. */
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
    const fate = fateOf(letter, amended);
    counts.selected += 1;
    counts[fate] += 1;
    if (!amended.ok) countReason(reasons, amended.reason);
    else if (fate === "changed" && shown.length < showMax)
      shown.push({ itemId: letter.itemId, changes: diffJson(letter.itemData, amended.data) });
  }
  const refusals = [...reasons].map(([reason, count]) => ({ reason, count }));
  return { ...counts, refusals: refusals.sort((a, b) => b.count - a.count), shown };
}

function fateOf(letter: StoredLetter, amended: Amended): "changed" | "unchanged" | "refused" {
  if (!amended.ok) return "refused";
  return isSameJson(letter.itemData, amended.data) ? "unchanged" : "changed";
}

/** Reasons that name data may all differ; those beyond the limit are counted as one. */
function countReason(reasons: Map<string, number>, reason: string): void {
  const key = reasons.has(reason) || reasons.size < REASONS_MAX ? reason : "other reasons";
  reasons.set(key, (reasons.get(key) ?? 0) + 1);
}

/** A letter may have megabytes of output in its history; so many fit into memory. */
const CHUNK_MAX = 200;

/** Works an edit, or the undoing of one, to its end from wherever it is. */
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

/** Letters that already had the data, so that no revision was made of them. */
export function unchangedIn({ progress }: Operation): number {
  return typeof progress.unchanged === "number" ? progress.unchanged : 0;
}

/** The operation's document with how many letters have new data, and how many had it already. */
export function editToJson(operation: Operation): JsonObject {
  const unchanged = Math.min(unchangedIn(operation), operation.done);
  return { ...operationToJson(operation), changed: operation.done - unchanged, unchanged };
}

interface EditStep {
  readonly step: LetterStep;
  readonly isUnchanged: boolean;
}

/** From a letter of the selection to what becomes of it. Its data is read now, and changed only while it stays the same. */
async function stepMaker(
  engine: Engine,
  { undoes, plan }: Operation,
): Promise<(selected: SelectedLetter) => Promise<EditStep>> {
  const amend = undoes === undefined ? await compileRecipe(recipeFromJson(plan)) : undefined;
  const note = typeof plan.note === "string" ? { note: plan.note } : {};
  return async ({ burial, ref }) => {
    const letter = await engine.readLetter(ref);
    if (letter === null || letter.burial !== burial)
      return refused(burial, undoes === undefined ? REFUSAL.gone : "it was run again or left since");
    const amended = amend ? amend(letter) : await takenBack(engine, letter, undoes ?? "");
    if (!amended.ok) return refused(burial, amended.reason);
    return {
      step: { burial, revision: letter.revision, data: amended.data, ...note },
      isUnchanged: isSameJson(amended.data, letter.itemData),
    };
  };
}

function refused(burial: number, reason: string): EditStep {
  return { step: { burial, refuse: reason }, isUnchanged: false };
}

/** The data before the edit that is undone, unless somebody has changed it since. */
async function takenBack(engine: Engine, letter: StoredLetter, undone: string): Promise<Amended> {
  const amendments = await engine.listAmendments(letter.ref);
  const amendment = amendments.findLast((one) => one.operationId === undone);
  if (amendment === undefined) return { ok: true, data: letter.itemData }; // it had that data already
  if (amendment.revision === letter.revision) return { ok: true, data: amendment.before };
  return { ok: false, reason: `its data was changed since (revision ${letter.revision})` };
}
