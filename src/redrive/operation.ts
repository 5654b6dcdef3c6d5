/**
 * Stage 7: begins a tracked operation on letters and completes its selection. The books are the store's; a crash at any
 * point leaves each letter where it was or where it was to go, and the operation goes on where it stopped.
 */
import type { Engine, LetterPage } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { LetterFilter } from "../item/letter-filter.ts";
import { type NewOperation, type Operation, type OperationKind, STATES_OF_KIND } from "../item/operation.ts";
import type { JsonObject } from "../kit/json.ts";
import { randomName } from "../kit/random.ts";
import { partsNamedIn } from "./named-parts.ts";
import { matcherOf, type Selection } from "./select.ts";

/** What is to be done with which letters. */
export interface OperationRequest {
  readonly kind: OperationKind;
  readonly queue: string;
  readonly selection: Selection;
  readonly author: string;
  /** Default false: letters that are not eligible are refused by a redrive. */
  readonly force?: boolean;
  readonly reason?: string;
  /** What the operation needs to go on after a crash. Default: nothing. */
  readonly plan?: JsonObject;
  /** The operation that this one takes back. */
  readonly undoes?: string;
  /** Ends the search for the letters early; `completeSelection` goes on with it. */
  readonly signal?: AbortSignal | undefined;
}

/** Begins an operation on the letters that match now, and returns it with its selection complete. */
export async function beginSelected(engine: Engine, request: OperationRequest): Promise<Operation> {
  const { where } = request.selection;
  if (where !== undefined) await matcherOf(where); // an expression that cannot be read begins nothing
  const operation = await engine.beginOperation(newOperation(request));
  try {
    return await completeSelection(engine, operation, request.signal);
  } catch (error) {
    if (isFilterFault(error)) await engine.changeOperation(operation.id, { status: "cancelled" });
    throw error;
  }
}

/** No later try can tell either which letters are meant. */
function isFilterFault(error: unknown): boolean {
  return error instanceof WorkError && error.code === "filter_invalid";
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

/** Letters that are looked at in one step. */
const PAGE_MAX = 500;

/** Goes on with the search for the letters of an operation, wherever it stopped. One that is complete stays as it is. */
export async function completeSelection(
  engine: Engine,
  begun: Operation,
  signal?: AbortSignal,
): Promise<Operation> {
  if (begun.status !== "selecting") return begun;
  if (begun.filter.itemIds?.length === 0) {
    return engine.enlist(begun.id, { burials: [], cursor: null }); // nothing but what was listed is meant
  }
  const { where } = begun.plan;
  const matches = typeof where === "string" ? await matcherOf(where) : () => true;
  const filter = await filterOf(begun);
  let operation = begun;
  while (operation.status === "selecting" && !signal?.aborted) {
    const page = await nextPage(engine, { ...operation, filter });
    const burials = page.letters.filter(matches).map(({ burial }) => burial);
    operation = await engine.enlist(begun.id, { burials, cursor: cursorAfter(page, begun) });
    await new Promise(setImmediate); // lets a signal be heard between two pages
  }
  return operation;
}

/** What the store can search by, of the expression too. */
async function filterOf({ kind, filter, plan }: Operation): Promise<LetterFilter> {
  const [first] = STATES_OF_KIND[kind];
  const whole = { ...filter, states: filter.states ?? (first === undefined ? [] : [first]) };
  if (typeof plan.where !== "string") return whole;
  const { narrowedBy } = await import("./push-down.ts");
  return narrowedBy(plan.where, whole);
}

function nextPage(engine: Engine, { filter, cursor, plan }: Operation): Promise<LetterPage> {
  return engine.listLetters({
    ...filter,
    order: "oldest", // what is buried from now on comes last, and ends the search
    limit: PAGE_MAX,
    parts: typeof plan.where === "string" ? partsNamedIn(plan.where) : [],
    counted: false,
    ...(cursor !== undefined && { cursor }),
  });
}

function cursorAfter({ letters, next }: LetterPage, { bound }: Operation): string | null {
  return (letters.at(-1)?.burial ?? bound) >= bound ? null : next;
}
