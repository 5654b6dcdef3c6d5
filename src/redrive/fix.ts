/**
 * Applies automatic fixes: one edit with the rule's changes, then a redrive of the changed letters. After a crash, the next
 * call continues both. Only the first matching rule is applied to a letter.
 */
import { selectedPages } from "../dead-letter/pages.ts";
import type { Engine, StoredLetter } from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import type { Operation } from "../item/operation.ts";
import { assert } from "../std/assert.ts";
import { copyJson, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { schemasFor } from "./amend.ts";
import { type AskOptions, askCommand, type FixAnswer } from "./fix-command.ts";
import { type FixChange, type FixRule, type FixScope, fixableLetters, noteAuthor } from "./fix-rule.ts";
import { isSameJson } from "./json-diff.ts";
import { beginListed, type Interruptible, stepsFor, workThrough } from "./operation.ts";
import { compileRecipe, type Recipe } from "./recipe.ts";
import type { Selection } from "./select.ts";

export interface FixRequest {
  readonly queue: string;
  /** Only the first matching rule is applied to a letter. */
  readonly rules: readonly FixRule[];
  readonly within?: Selection;
  readonly author: string;
  readonly signal?: AbortSignal;
}

export interface FixMatch {
  readonly rule: FixRule;
  readonly letter: StoredLetter;
  readonly answer: FixAnswer;
}

/** Computes every fix without writing anything. Commands run with `REDRIVE_DRY_RUN=1`. */
export async function* planFixes(
  engine: Engine,
  { rules, ...request }: Omit<FixRequest, "author">,
): AsyncGenerator<FixMatch> {
  const taken = new Set<number>();
  const schemas = await schemasFor(engine, request.queue);
  for (const rule of rules) {
    const { signal } = request;
    const fix = await fixerOf(rule.change, { isPreview: true, schemas, ...(signal && { signal }) });
    for await (const letters of fixableLetters(engine, rule, { ...request, taken })) {
      for (const letter of letters) {
        const answer = await fix(letter);
        if (answer.ok) taken.add(letter.letterSequence);
        yield { rule, letter, answer };
      }
    }
  }
}

export async function countFixable(engine: Engine, request: Omit<FixRequest, "author">): Promise<number> {
  const taken = new Set<number>();
  for (const rule of request.rules) {
    for await (const letters of fixableLetters(engine, rule, { ...request, taken })) {
      for (const { letterSequence } of letters) taken.add(letterSequence);
    }
  }
  return taken.size;
}

export interface AppliedFix {
  readonly rule: string;
  /** The edit operation: `done` counts the changed letters, `refused` the others. */
  readonly edit: Operation;
  /** The redrive of the changed letters, which has not started yet; absent if no letter was changed. */
  readonly redrive?: Operation;
}

export async function applyFixes(engine: Engine, request: FixRequest): Promise<readonly AppliedFix[]> {
  const applied = await finishEarlier(engine, request);
  const taken = new Set<number>();
  for (const { edit } of applied) await take(engine, edit, taken);
  for (const rule of request.rules) {
    if (request.signal?.aborted) break;
    const edit = await beginEdit(engine, rule, { ...request, taken });
    if (edit === null) continue;
    const fix = await finishFix(engine, edit, request);
    await take(engine, fix.edit, taken);
    applied.push(fix);
  }
  return applied;
}

/** Excludes the edited letters from further rules: they stay dead until they are redriven. */
async function take(engine: Engine, edit: Operation, taken: Set<number>): Promise<void> {
  for await (const letterSequences of changedLetters(engine, edit))
    for (const letterSequence of letterSequences) taken.add(letterSequence);
}

/** Finishes fixes that a killed process left open, except paused ones. */
async function finishEarlier(engine: Engine, request: FixRequest): Promise<AppliedFix[]> {
  const applied: AppliedFix[] = [];
  for (const operation of await engine.listOperations({ queue: request.queue, open: true })) {
    if (operation.kind !== "edit" || operation.status === "paused" || !fixPlanOf(operation)) continue;
    applied.push(await finishFix(engine, operation, request));
  }
  return applied;
}

/** Returns null if no letter matches, so that no empty operation is recorded. */
async function beginEdit(
  engine: Engine,
  rule: FixRule,
  { author, ...scope }: FixScope & { readonly author: string },
): Promise<Operation | null> {
  const pages = fixableLetters(engine, rule, scope);
  const first = await pages.next();
  if (first.done) return null;
  const request = { kind: "edit", queue: scope.queue, author, plan: fixPlanToJson(rule) } as const;
  return beginListed(engine, request, letterSequencesOf(first.value, pages));
}

async function* letterSequencesOf(
  first: readonly StoredLetter[],
  rest: AsyncIterable<readonly StoredLetter[]>,
): AsyncGenerator<readonly number[]> {
  yield sequencesOf(first);
  for await (const letters of rest) yield sequencesOf(letters);
}

/** Runs a fix's edit from its last completed step to the end, then creates the redrive. */
export async function finishFix(
  engine: Engine,
  begun: Operation,
  { author, signal }: Pick<FixRequest, "author" | "signal">,
): Promise<AppliedFix> {
  const plan = fixPlanOf(begun);
  assert(plan !== null, `operation ${begun.id} is not a fix`);
  const edited = await editAll(engine, begun, { plan, signal });
  const { rule } = plan;
  if (edited.status !== "open" || edited.done + edited.refused < edited.selected)
    return { rule, edit: edited };
  const redrive = edited.done > 0 ? await beginRedrive(engine, edited, { rule, author }) : null;
  // Closes the edit last: while it is open, the next run after a crash still creates the redrive.
  const edit = await engine.closeOperation(begun.id);
  return { rule, edit, ...(redrive && { redrive }) };
}

/** Uses `force`: the rule was written for these letters, so their earlier eligibility does not matter. */
async function beginRedrive(
  engine: Engine,
  edit: Operation,
  { rule, author }: { readonly rule: string; readonly author: string },
): Promise<Operation> {
  const request = { kind: "redrive", queue: edit.queue, author, force: true, plan: { rule } } as const;
  const redrive = await beginListed(engine, request, changedLetters(engine, edit));
  const { id, done, refused } = edit;
  const data = { rule, count: done, refused, edit_id: id, operation_id: redrive.id };
  await engine.changeJob(edit.queue, { event: { type: "dlq_rule_applied", data } });
  return redrive;
}

async function* changedLetters(engine: Engine, { id }: Operation): AsyncGenerator<readonly number[]> {
  for await (const page of selectedPages(engine, id, "done")) yield sequencesOf(page);
}

function sequencesOf(letters: readonly { readonly letterSequence: number }[]): readonly number[] {
  return letters.map(({ letterSequence }) => letterSequence);
}

/** Letters per step. Commands of one step run in parallel. */
const CHUNK_MAX = { set: 200, patch: 200, command: 8 } as const;

async function editAll(
  engine: Engine,
  begun: Operation,
  { plan: { rule, change }, signal }: Interruptible & { readonly plan: FixPlan },
): Promise<Operation> {
  const schemas = await schemasFor(engine, begun.queue);
  const fix = await fixerOf(change, { schemas, ...(signal && { signal }) });
  const edit = async (letter: StoredLetter) => {
    const answer = await fix(letter);
    if (!answer.ok) return answer.reason;
    if (isSameJson(answer.data, letter.itemData)) await noteUse(engine, letter.ref, rule);
    return { data: answer.data, rule };
  };
  return workThrough(engine, begun, {
    chunkMax: CHUNK_MAX[change.kind],
    signal,
    staysOpen: true,
    stepFor: async (pending) => {
      const letters = await stepsFor(engine, pending, edit);
      return signal?.aborted ? null : { letters }; // a stopped command has no result for its letter
    },
  });
}

/** Records the use before the redrive. Otherwise a rule that changes nothing could be applied forever. */
async function noteUse(engine: Engine, ref: number, rule: string): Promise<void> {
  await engine.addNote(ref, { author: noteAuthor(rule), text: "applied; the data did not change" });
}

type Fixer = (letter: Letter) => Promise<FixAnswer>;

interface FixerOptions extends AskOptions {
  readonly schemas?: readonly Json[];
}

async function fixerOf(change: FixChange, options: FixerOptions = {}): Promise<Fixer> {
  const { schemas = [], ...asking } = options;
  if (change.kind !== "command") {
    const amend = await compileRecipe({ ...recipeOf(change), schemas });
    return async (letter) => amend(letter);
  }
  const allowed = await compileRecipe({ schemas });
  return async (letter) => {
    const answer = await askCommand(change, letter, asking);
    return answer.ok ? allowed({ ...letter, itemData: answer.data }) : answer;
  };
}

function recipeOf(change: Exclude<FixChange, { kind: "command" }>): Recipe {
  if (change.kind === "patch") return { patch: change.patch };
  return { set: Object.entries(change.set).map(([path, value]) => ({ path, value })) };
}

/** The copy of the rule stored with the edit, so that the edit can resume after the settings have changed. */
interface FixPlan {
  readonly rule: string;
  readonly change: FixChange;
}

function fixPlanToJson({ name, change }: Pick<FixRule, "name" | "change">): JsonObject {
  return { fix: { rule: name, change: copyJson(change) } };
}

/** Returns null if the edit does not belong to a fix, or if a newer version wrote the fix. */
function fixPlanOf({ plan: { fix } }: Operation): FixPlan | null {
  if (!isJsonObject(fix) || !isJsonObject(fix.change) || typeof fix.rule !== "string") return null;
  return Object.hasOwn(CHUNK_MAX, String(fix.change.kind)) ? (fix as unknown as FixPlan) : null;
}
