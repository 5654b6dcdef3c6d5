/**
 * Automatic fixes: the data of the letters that a rule matches is changed, and they are sent back to work. Each rule's
 * changes are one edit with the rule's name in every amendment, followed by a redrive of just those letters; killed in
 * between, the next use goes on where it stopped. A letter is fixed by one rule at a time: the first that matches.
 */
import type { Engine, StoredLetter } from "../engine.ts";
import { type LetterStep, type Operation, REFUSAL, type SelectedLetter } from "../item/operation.ts";
import { assert } from "../kit/assert.ts";
import type { Json } from "../kit/json.ts";
import { schemasOf } from "./amend.ts";
import { type Fixer, type FixPlan, fixerOf, fixPlanOf, fixPlanToJson } from "./fix-change.ts";
import type { FixAnswer } from "./fix-command.ts";
import { type FixScope, fixableLetters, noteAuthor } from "./fix-match.ts";
import type { FixRule } from "./fix-rule.ts";
import { isSameJson } from "./json-diff.ts";
import { beginListed } from "./listed.ts";
import { completeSelection } from "./operation.ts";
import type { Selection } from "./select.ts";

export interface FixRequest {
  readonly queue: string;
  /** Tried in this order. */
  readonly rules: readonly FixRule[];
  /** Only these letters. */
  readonly within?: Selection;
  readonly author: string;
  /** Aborted to stop; what was not changed by then stays as it was. */
  readonly signal?: AbortSignal;
}

/** A letter, the rule that is for it, and what that would make of it. */
export interface FixMatch {
  readonly rule: FixRule;
  readonly letter: StoredLetter;
  readonly answer: FixAnswer;
}

/** What would be done, letter by letter. Changes nothing; commands run, and are told that it is a preview. */
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
        if (answer.ok) taken.add(letter.burial);
        yield { rule, letter, answer };
      }
    }
  }
}

/** What the data of a queue has to fit. */
async function schemasFor(engine: Engine, queue: string): Promise<readonly Json[]> {
  const job = await engine.findJob(queue);
  return job === null ? [] : schemasOf(job.spec);
}

/** How many letters some rule is for. */
export async function countFixable(engine: Engine, request: Omit<FixRequest, "author">): Promise<number> {
  const taken = new Set<number>();
  for (const rule of request.rules) {
    for await (const letters of fixableLetters(engine, rule, { ...request, taken })) {
      for (const { burial } of letters) taken.add(burial);
    }
  }
  return taken.size;
}

/** One use of a rule on many letters. */
export interface AppliedFix {
  readonly rule: string;
  /** Its books: done are the letters that were changed, refused those that stay. */
  readonly edit: Operation;
  /** Of just the changed letters, begun and not sent yet; absent when there are none. */
  readonly redrive?: Operation;
}

/** Changes the letters and begins their redrives, one for each rule that has any. */
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

/** They are dead until they are sent: no other rule may have them meanwhile. */
async function take(engine: Engine, edit: Operation, taken: Set<number>): Promise<void> {
  for await (const burials of doneBurials(engine, edit)) for (const burial of burials) taken.add(burial);
}

/** What a process that was killed has left; a person who paused it wants it to wait. */
async function finishEarlier(engine: Engine, request: FixRequest): Promise<AppliedFix[]> {
  const applied: AppliedFix[] = [];
  for (const operation of await engine.listOperations({ queue: request.queue, open: true })) {
    if (operation.kind !== "edit" || operation.status === "paused" || !fixPlanOf(operation)) continue;
    applied.push(await finishFix(engine, operation, request));
  }
  return applied;
}

/** Null when no letter matches: an operation on nothing would only be noise. */
async function beginEdit(
  engine: Engine,
  rule: FixRule,
  { author, ...scope }: FixScope & { readonly author: string },
): Promise<Operation | null> {
  const pages = fixableLetters(engine, rule, scope);
  const first = await pages.next();
  if (first.done) return null;
  const request = { kind: "edit", queue: scope.queue, author, plan: fixPlanToJson(rule) } as const;
  return beginListed(engine, request, burialsOf(first.value, pages));
}

async function* burialsOf(
  first: readonly StoredLetter[],
  rest: AsyncIterable<readonly StoredLetter[]>,
): AsyncGenerator<readonly number[]> {
  yield first.map(({ burial }) => burial);
  for await (const letters of rest) yield letters.map(({ burial }) => burial);
}

/** Brings a rule's edit to its end from wherever it is, and begins the redrive of what was changed. */
export async function finishFix(
  engine: Engine,
  begun: Operation,
  { author, signal }: Pick<FixRequest, "author" | "signal">,
): Promise<AppliedFix> {
  const plan = fixPlanOf(begun);
  assert(plan !== null, `the operation ${begun.id} is no fix`);
  const edited = await editAll(engine, await completeSelection(engine, begun), { plan, signal });
  const { rule } = plan;
  if (edited.status !== "open" || edited.done + edited.refused < edited.selected)
    return { rule, edit: edited };
  const redrive = edited.done > 0 ? await beginRedrive(engine, edited, { rule, author }) : null;
  // Closed last: as long as it is open, whoever comes after a crash begins the redrive.
  const edit = await engine.closeOperation(begun.id);
  return { rule, edit, ...(redrive && { redrive }) };
}

/** A person wrote the rule for such letters, so whether they were eligible before does not matter any more. */
async function beginRedrive(
  engine: Engine,
  edit: Operation,
  { rule, author }: { readonly rule: string; readonly author: string },
): Promise<Operation> {
  const request = { kind: "redrive", queue: edit.queue, author, force: true, plan: { rule } } as const;
  const redrive = await beginListed(engine, request, doneBurials(engine, edit));
  const { id, done, refused } = edit;
  const data = { rule, count: done, refused, edit_id: id, operation_id: redrive.id };
  await engine.changeJob(edit.queue, { event: { type: "dlq_rule_applied", data } });
  return redrive;
}

const PAGE_MAX = 500;

async function* doneBurials(engine: Engine, { id }: Operation): AsyncGenerator<readonly number[]> {
  for (let after = 0; ; ) {
    const page = await engine.listSelected(id, { status: "done", after, limit: PAGE_MAX });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page.map(({ burial }) => burial);
    after = last.burial;
  }
}

interface Editing {
  readonly plan: FixPlan;
  readonly signal?: AbortSignal | undefined;
}

/** Letters in one step; so many commands run at a time. */
const CHUNK_MAX = { set: 200, patch: 200, command: 8 } as const;

async function editAll(engine: Engine, begun: Operation, { plan, signal }: Editing): Promise<Operation> {
  const schemas = await schemasFor(engine, begun.queue);
  const fix = await fixerOf(plan.change, { schemas, ...(signal && { signal }) });
  const limit = CHUNK_MAX[plan.change.kind];
  let operation = begun;
  while (operation.status === "open") {
    const pending = await engine.listSelected(begun.id, { status: "pending", limit });
    if (pending.length === 0) return operation;
    const letters = await Promise.all(pending.map((one) => stepFor(engine, one, { plan, fix })));
    if (signal?.aborted) return operation; // a command that was ended has said nothing about its letter
    operation = await engine.advance(begun.id, { letters });
  }
  return operation;
}

async function stepFor(
  engine: Engine,
  { ref, burial }: SelectedLetter,
  { plan: { rule }, fix }: { readonly plan: FixPlan; readonly fix: Fixer },
): Promise<LetterStep> {
  const letter = await engine.readLetter(ref);
  if (letter?.burial !== burial) return { burial, refuse: REFUSAL.gone };
  const answer = await fix(letter);
  if (!answer.ok) return { burial, refuse: answer.reason };
  if (isSameJson(answer.data, letter.itemData)) await noteUse(engine, ref, rule);
  return { burial, revision: letter.revision, data: answer.data, rule };
}

/** It counts before the letter is sent: a rule that changes nothing could be used for ever. */
async function noteUse(engine: Engine, ref: number, rule: string): Promise<void> {
  await engine.addNote(ref, { author: noteAuthor(rule), text: "used; the data stayed as it was" });
}
