/**
 * Creates operations on letters and works through them. The store keeps the progress, so that an operation resumes
 * after a crash; every letter is then either unchanged or fully processed.
 */

import type { Engine, LetterPage, StoredLetter } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import {
  isPreview,
  KIND_RULES,
  type LetterStep,
  type NewOperation,
  type Operation,
  type OperationKind,
  type OperationStep,
  REFUSAL,
  type SelectedLetter,
} from "../item/operation.ts";
import { assert } from "../std/assert.ts";
import type { JsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { partsNamedIn } from "./named-parts.ts";
import { narrowedBy } from "./push-down.ts";
import { matcherOf, type Selection, treeOf } from "./select.ts";

export interface Interruptible {
  /** Aborting the signal stops the work between two steps and leaves the operation open. */
  readonly signal?: AbortSignal | undefined;
}

export interface BulkRequest extends Interruptible {
  readonly queue: string;
  readonly selection: Selection;
  readonly author: string;
}

export interface OperationRequest extends BulkRequest {
  readonly kind: OperationKind;
  /** Also redrives letters that are not eligible. Default false. */
  readonly force?: boolean;
  readonly reason?: string;
  /** The parameters for resuming after a crash. Default: none. */
  readonly plan?: JsonObject;
  readonly undoes?: string;
}

/** Creates an operation on the letters that match now. Returns the operation once its selection is complete. */
export async function beginSelected(engine: Engine, request: OperationRequest): Promise<Operation> {
  const { where } = request.selection;
  if (where !== undefined) await matcherOf(where); // an invalid expression must not create an operation
  const operation = await engine.beginOperation(newOperation(request));
  try {
    return await completeSelection(engine, operation, request.signal);
  } catch (error) {
    const isFilterFault = error instanceof RedriveError && error.code === "filter_invalid";
    // The expression would fail again for the same letter.
    if (isFilterFault) await engine.changeOperation(operation.id, { status: "cancelled" });
    throw error;
  }
}

function newOperation({ selection, plan = {}, force = false, ...request }: OperationRequest): NewOperation {
  const { kind, queue, author, reason, undoes } = request;
  const { filter, where } = selection;
  return {
    id: `op-${randomName(8)}`,
    kind,
    queue,
    author,
    force,
    filter: { ...filter, queue },
    plan: where === undefined ? plan : { ...plan, where },
    ...(where !== undefined && { selection: "enlisted" as const }),
    ...(reason !== undefined && { reason }),
    ...(undoes !== undefined && { undoes }),
  };
}

const PAGE_MAX = 500;

/** Completes the selection of an operation. A complete selection is returned unchanged. */
export async function completeSelection(engine: Engine, begun: Operation, signal?: AbortSignal) {
  if (begun.status !== "selecting") return begun;
  if (begun.filter.itemIds?.length === 0) {
    return engine.enlist(begun.id, { letterSequences: [], cursor: null }); // stores that the selection is complete and empty
  }
  const { where } = begun.plan;
  const matches = typeof where === "string" ? await matcherOf(where) : () => true;
  const filter = await filterOf(begun);
  let operation = begun;
  while (operation.status === "selecting" && !signal?.aborted) {
    const page = await nextPage(engine, { ...operation, filter });
    const letterSequences = page.letters.filter(matches).map(({ letterSequence }) => letterSequence);
    operation = await engine.enlist(begun.id, { letterSequences, cursor: cursorAfter(page, begun) });
    await new Promise(setImmediate); // lets signal handlers run between two pages
  }
  return operation;
}

/**
 * Returns the operation's filter, narrowed by those comparisons in its expression that the store can search
 * by.
 */
async function filterOf({ kind, filter, plan }: Operation): Promise<LetterFilter> {
  const [first] = KIND_RULES[kind].states;
  const whole = { ...filter, states: filter.states ?? (first === undefined ? [] : [first]) };
  if (typeof plan.where !== "string") return whole;
  return narrowedBy(await treeOf(plan.where), whole);
}

function nextPage(engine: Engine, { filter, cursor, plan }: Operation): Promise<LetterPage> {
  return engine.listLetters({
    ...filter,
    order: "oldest", // letters buried from now on come last, and `bound` excludes them
    limit: PAGE_MAX,
    parts: typeof plan.where === "string" ? partsNamedIn(plan.where) : [],
    counted: false,
    ...(cursor !== undefined && { cursor }),
  });
}

function cursorAfter({ letters, next }: LetterPage, { bound }: Operation): string | null {
  return (letters.at(-1)?.letterSequence ?? bound) >= bound ? null : next;
}

const CANDIDATES_MAX = 6;

/** Lists operations, oldest first, without server previews that were not started. */
export async function listStarted(
  engine: Engine,
  filter: Parameters<Engine["listOperations"]>[0],
): Promise<readonly Operation[]> {
  return (await engine.listOperations(filter)).filter((one) => !isPreview(one));
}

/** Rejects the preview of a server, which only its own start request may open. */
export function requireStarted(operation: Operation): Operation {
  if (!isPreview(operation)) return operation;
  throw new RedriveError("operation_not_found", `The selection ${operation.id} has not been started.`, {
    hint: "Start it where it was previewed: in the console, or with POST /operations.",
  });
}

/** Finds an operation by its id or a prefix. If several match, the error lists the candidates. */
export async function requireOperation(engine: Engine, idOrPrefix: string): Promise<Operation> {
  const exact = await engine.findOperation(idOrPrefix);
  if (exact !== null) return exact;
  const begins = (id: string) => id.startsWith(idOrPrefix) || id.startsWith(`op-${idOrPrefix}`);
  const fitting = idOrPrefix === "" ? [] : (await listStarted(engine, {})).filter(({ id }) => begins(id));
  const [only, second] = fitting;
  if (only === undefined) {
    throw new RedriveError("operation_not_found", `There is no operation ${idOrPrefix}.`, {
      hint: "Run `redrive ops list` to list them.",
    });
  }
  if (second === undefined) return only;
  throw severalOperations(
    `"${idOrPrefix}" matches several operations`,
    fitting,
    "Give a longer prefix of the id.",
  );
}

/**
 * Returns the only unfinished operation. Throws if there is none; if there are several, the error lists them.
 */
export async function onlyOpenOperation(engine: Engine): Promise<Operation> {
  const open = await listStarted(engine, { open: true });
  const [only, second] = open;
  if (only === undefined) throw new RedriveError("operation_not_found", "There is no unfinished operation.");
  if (second === undefined) return only;
  throw severalOperations(`${open.length} operations have not ended`, open, "Give the id of one of them.");
}

function severalOperations(what: string, operations: readonly Operation[], hint: string): RedriveError {
  const names = operations
    .slice(0, CANDIDATES_MAX)
    .map(({ id, kind, queue }) => `${id} (${kind} of ${queue})`);
  const more = operations.length > CANDIDATES_MAX ? ", …" : "";
  return new RedriveError("ambiguous", `${what}: ${names.join(", ")}${more}.`, { hint });
}

export type ListedRequest = Pick<NewOperation, "kind" | "queue" | "author" | "reason"> &
  Partial<Pick<NewOperation, "force" | "plan">>;

/** Creates an operation on listed letters. Letters that are no longer dead are skipped. */
export async function beginListed(
  engine: Engine,
  { force = false, plan = {}, ...request }: ListedRequest,
  pages: AsyncIterable<readonly number[]>,
): Promise<Operation> {
  const { id } = await engine.beginOperation({
    ...request,
    id: `op-${randomName(8)}`,
    force,
    plan,
    filter: { queue: request.queue, itemIds: [] },
    selection: "enlisted",
  });
  for await (const letterSequences of pages) await engine.enlist(id, { letterSequences, cursor: "listed" });
  return engine.enlist(id, { letterSequences: [], cursor: null });
}

/** Reads an operation. If it was cancelled, its letters that wait for a retry become dead again. */
export async function readOperation(engine: Engine, id: string): Promise<Operation> {
  const operation = await engine.findOperation(id);
  assert(operation !== null, `the operation ${id} is gone`);
  const isEnding = operation.status === "cancelled" && operation.endedAt === undefined;
  return isEnding ? engine.closeOperation(id) : operation;
}

/** Makes the letters of a queue's cancelled operations dead again, except those whose item is running. */
export async function recallCancelled(engine: Engine, queue: string): Promise<void> {
  for (const { id, status } of await engine.listOperations({ queue, open: true }))
    if (status === "cancelled") await engine.closeOperation(id);
}

export interface WorkOptions extends Interruptible {
  readonly chunkMax: number;
  /** Computes the step for these letters. Returning null stops the work. */
  readonly stepFor: (
    pending: readonly SelectedLetter[],
    operation: Operation,
  ) => Promise<OperationStep | null>;
  /** Called after the step has been stored. */
  readonly onStep?: () => Promise<void>;
  /** Whether the operation stays open at the end. Default false. */
  readonly staysOpen?: boolean;
}

/** Returns when no letter is pending, or when the operation was paused, cancelled or aborted. */
export async function workThrough(
  engine: Engine,
  begun: Operation,
  { chunkMax, stepFor, onStep, staysOpen = false, signal }: WorkOptions,
): Promise<Operation> {
  let operation = await completeSelection(engine, begun, signal);
  while (operation.status === "open" && !signal?.aborted) {
    const pending = await engine.listSelected(begun.id, { status: "pending", limit: chunkMax });
    if (pending.length === 0) return staysOpen ? operation : engine.closeOperation(begun.id);
    const step = await stepFor(pending, operation);
    if (step === null) return operation;
    operation = await engine.advance(begun.id, step);
    await onStep?.();
    await new Promise(setImmediate); // lets signal handlers run, also with a store that never waits for I/O
  }
  return operation;
}

/** Returns the letter, or null if it was buried again or deleted since it was selected. */
export async function readSelected(
  engine: Engine,
  { ref, letterSequence }: Pick<SelectedLetter, "ref" | "letterSequence">,
): Promise<StoredLetter | null> {
  const letter = await engine.readLetter(ref);
  return letter?.letterSequence === letterSequence ? letter : null;
}

/** What to do with a letter, or the reason to refuse it. */
type Judgement = string | Pick<LetterStep, "data" | "note" | "rule">;

/** Computes the steps. Each names the revision that was read, so that a concurrent change is not overwritten. */
export function stepsFor(
  engine: Engine,
  pending: readonly SelectedLetter[],
  judge: (letter: StoredLetter) => Judgement | Promise<Judgement>,
  gone: string = REFUSAL.gone,
): Promise<LetterStep[]> {
  const stepOf = async (selected: SelectedLetter): Promise<LetterStep> => {
    const { letterSequence } = selected;
    const letter = await readSelected(engine, selected);
    const judgement = letter === null ? gone : await judge(letter);
    if (letter === null || typeof judgement === "string")
      return { letterSequence, refuse: String(judgement) };
    return { letterSequence, revision: letter.revision, ...judgement };
  };
  return Promise.all(pending.map(stepOf));
}
