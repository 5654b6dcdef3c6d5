/**
 * Freezes the letters of a bulk change before it starts. A held selection is stored as a paused operation:
 * its letters are recorded, nothing is changed, and no runner continues it. Starting it requires its id and
 * its count. If one of its letters has changed in the meantime, nothing is started.
 */
import { createHash } from "node:crypto";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { isPreview, type NewOperation, type Operation, type OperationKind } from "../item/operation.ts";
import { LETTER_STATES } from "../item/state.ts";
import { type Selection, selectionFor, selectPages } from "../redrive/select.ts";
import { toRfc3339 } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { RequestError } from "./problem.ts";

export interface HoldRequest extends Pick<NewOperation, "kind" | "queue" | "author" | "force" | "plan"> {
  readonly selection: Selection;
  readonly reason?: string;
  /** The filter as given in the request, for people who look at the operation. */
  readonly asked: JsonObject;
}

/** How long a selection can be started after its creation. */
const HELD_MS = 15 * 60_000;
const CURSOR = "held";
const PAGE_MAX = 500;

/** Selects the letters that match now and holds them. */
export async function holdSelection(engine: Engine, request: HoldRequest): Promise<Operation> {
  const { kind, queue, author, force, plan, reason, asked } = request;
  const now = await engine.now();
  await cancelExpired(engine, queue, now);
  const { filter, ...selection } = selectionFor(kind, request.selection);
  const { id } = await engine.beginOperation({
    id: `op-${randomName(8)}`,
    ...{ kind, queue, author, force },
    plan: { ...plan, asked, held_until: now + HELD_MS },
    filter: { queue, itemIds: [] }, // a runner that continues this operation selects nothing more
    selection: "enlisted",
    ...(reason !== undefined && { reason }),
  });
  const pages = selectPages(engine, { ...selection, filter: { ...filter, queue } }, { order: "oldest" });
  for await (const { letters } of pages) {
    const letterSequences = letters.map(({ letterSequence }) => letterSequence);
    await engine.enlist(id, { letterSequences, cursor: CURSOR });
  }
  await engine.changeOperation(id, { status: "paused", author: null });
  const digest = await digestOf(engine, { id, queue });
  return engine.changeOperation(id, { progress: { digest } });
}

/** Whether the operation is a selection that can be started. */
export function isHeld(operation: Operation): boolean {
  return operation.status === "paused" && isPreview(operation);
}

export function heldUntil({ plan }: Operation): string {
  return toRfc3339(Number(plan.held_until));
}

/** Opens a held selection as an operation if its letters have not changed. */
export async function startHeld(
  engine: Engine,
  { id, count, author }: { readonly id: string; readonly count: number; readonly author: string },
): Promise<Operation> {
  const held = await requireHeld(engine, id);
  if (held.author !== author)
    throw new RequestError("forbidden", `The selection ${id} was made by ${held.author}.`);
  if (!isHeld(held)) throw used(id, "was already started or cancelled");
  if (Number(held.plan.held_until) <= (await engine.now())) throw used(id, "has expired");
  if (held.selected !== count)
    throw changed(`The selection ${id} has ${held.selected} letters, not ${count}.`);
  if ((await digestOf(engine, held)) !== held.progress.digest) {
    await engine.changeOperation(id, { status: "cancelled", author: null });
    throw changed(`Letters of the selection ${id} changed after they were selected.`);
  }
  await engine.changeOperation(id, { status: "open", progress: {}, author: null });
  return engine.enlist(id, { letterSequences: [], cursor: null });
}

async function requireHeld(engine: Engine, id: string): Promise<Operation> {
  const operation = await engine.findOperation(id);
  if (operation !== null && typeof operation.plan.held_until === "number") return operation;
  throw new RedriveError("operation_not_found", `There is no selection ${id}.`);
}

function used(id: string, how: string): RequestError {
  return new RequestError("selection_used", `The selection ${id} ${how}.`, { hint: "Make a new selection." });
}

function changed(message: string): RequestError {
  return new RequestError("selection_changed", `${message} Nothing was started.`, {
    hint: "Make a new selection, check it, and start it with its count.",
  });
}

/**
 * A digest of the state of all selected letters: their burials, their revisions and whether the kind still
 * accepts them.
 */
async function digestOf(engine: Engine, { id, queue }: Pick<Operation, "id" | "queue">): Promise<string> {
  const hash = createHash("sha256");
  let after = 0;
  for (;;) {
    const page = await engine.listSelected(id, { after, limit: PAGE_MAX });
    const last = page.at(-1);
    if (last === undefined) return hash.digest("hex");
    const itemIds = page.map(({ itemId }) => itemId);
    const { letters } = await engine.listLetters({
      ...{ queue, itemIds, states: LETTER_STATES, limit: PAGE_MAX },
      ...{ parts: ["record"], counted: false },
    });
    const known = new Map(letters.map((letter) => [letter.letterSequence, letter]));
    for (const { letterSequence } of page) {
      const letter = known.get(letterSequence);
      hash.update(letter ? `${letterSequence}.${letter.revision}.${letter.state};` : `${letterSequence};`);
    }
    after = last.letterSequence;
  }
}

/** Cancels expired selections, which are not shown but would otherwise count as open operations forever. */
async function cancelExpired(engine: Engine, queue: string, now: number): Promise<void> {
  for (const operation of await engine.listOperations({ queue, open: true }))
    if (isHeld(operation) && Number(operation.plan.held_until) <= now)
      await engine.changeOperation(operation.id, { status: "cancelled", author: null });
}

/** The actions that a request can select, with their names in the API. */
export const ACTIONS = {
  retry: "redrive",
  requeue: "requeue",
  edit: "edit",
  discard: "discard",
  restore: "restore",
  purge: "purge",
  clear: "clear",
} as const satisfies Readonly<Record<string, OperationKind>>;

export type Action = keyof typeof ACTIONS;
