/** The work of an operation, one step at a time: each letter of the step is processed or refused, and counted. */
import type { EventDraft } from "../../../src/item/event.ts";
import type { Resolution } from "../../../src/item/letter.ts";
import {
  assertStep,
  KIND_RULES,
  type LetterStep,
  letterEvent,
  newIdOf,
  newNameOf,
  type Operation,
  type OperationStep,
  REFUSAL,
  sentAnewAs,
  stepEvent,
} from "../../../src/item/operation.ts";
import { compact } from "../../../src/std/json.ts";
import { amend } from "./amend.ts";
import { endRedrive, operationOf, requireOperation } from "./books.ts";
import { burialOf, closeLetter, reopenLetter } from "./bury.ts";
import { record } from "./events.ts";
import { addOne } from "./intake.ts";
import { moveRow } from "./move.ts";
import { deleteLetter } from "./purge.ts";
import { inOrder, refuse } from "./selection.ts";
import { frozenCopy, type OperationRow, type Row, type SelectedRow, type Store } from "./store.ts";

/** Nothing happens unless the operation is open. */
export function advance(store: Store, operationId: string, step: OperationStep): Operation {
  const operation = requireOperation(store, operationId);
  assertStep(operation.asked, step);
  if (operation.status !== "open") return operationOf(operation);
  const before = { done: operation.done, refused: operation.refused };
  for (const { selected, given } of lettersOf(operation, step)) {
    const reason = given.refuse ?? obstacle(operation, selected, given);
    if (reason !== undefined) refuse(operation, selected, reason);
    else work(store, operation, selected, { given, step });
  }
  if (step.progress) operation.progress = frozenCopy(step.progress);
  const counted = { done: operation.done - before.done, refused: operation.refused - before.refused };
  for (const event of stepEvent(operation.asked, counted))
    record(store, { ...event, queue: operation.asked.queue });
  endRedrive(store, operation);
  return operationOf(operation);
}

/** The pending letters of the step, oldest burial first; if one is listed twice, the first entry. */
function lettersOf(
  operation: OperationRow,
  { max = 0, letters }: OperationStep,
): readonly { readonly selected: SelectedRow; readonly given: LetterStep }[] {
  const pending = inOrder(operation).filter(({ status }) => status === "pending");
  if (!letters)
    return pending
      .slice(0, max)
      .map((selected) => ({ selected, given: { letterSequence: selected.letterSequence } }));
  const named = new Map([...letters].reverse().map((given) => [given.letterSequence, given]));
  return pending.flatMap((selected) => {
    const given = named.get(selected.letterSequence);
    return given ? [{ selected, given }] : [];
  });
}

/** The reason why the letter cannot be processed, if there is one. */
function obstacle(
  { asked }: OperationRow,
  { row, letterSequence, state }: SelectedRow,
  { revision = row.revision }: LetterStep,
): string | undefined {
  const isThere = row.burial?.number === letterSequence && row.state === state && row.revision === revision;
  if (!isThere || !KIND_RULES[asked.kind].states.includes(row.state)) return REFUSAL.gone;
  if (asked.kind !== "redrive" || asked.force) return undefined;
  return burialOf(row).death.reprocessEligible ? undefined : REFUSAL.ineligible;
}

interface Work {
  readonly given: LetterStep;
  readonly step: OperationStep;
}

function work(store: Store, operation: OperationRow, selected: SelectedRow, { given, step }: Work): void {
  const { row } = selected;
  const { signature } = burialOf(row).death;
  const { id: operationId, kind, author, reason } = operation.asked;
  selected.status = "done";
  operation.done += 1;
  let requeuedAs: string | undefined;
  if (kind === "redrive") sendBack(store, row, operation, step);
  else if (kind === "requeue") requeuedAs = sendAnew(store, row, operation, given);
  else if (kind === "edit") tell(store, row, amend(store, row, { given, author, operationId }));
  else if (kind === "discard") {
    discard(store, row, reason === undefined ? { author, operationId } : { author, operationId, reason });
  } else if (kind === "restore") {
    moveRow(row, "restore");
    reopenLetter(store, row);
  } else deleteLetter(store, row, kind);
  tell(store, row, letterEvent(operation.asked, signature, requeuedAs));
}

function discard(store: Store, row: Row, by: Pick<Resolution, "author" | "operationId" | "reason">): void {
  moveRow(row, "discard");
  closeLetter(store, row, { kind: "discard", at: store.now, ...by });
}

/** Another item replaces the letter; the two refer to each other. */
function sendAnew(store: Store, row: Row, { asked }: OperationRow, step: LetterStep): string {
  const { queue, orderingKey } = row;
  const { data = row.data, priority = row.priority } = step;
  const itemId = newIdOf(row.itemId, (id) => queue.byId.has(id));
  const name = newNameOf(row.name, row.itemId);
  addOne(store, queue, compact({ itemId, data, name, priority, orderingKey }), row);
  discard(store, row, { author: asked.author, operationId: asked.id, reason: sentAnewAs(itemId) });
  return itemId;
}

function tell(store: Store, { queue, itemId }: Row, events: readonly EventDraft[]): void {
  for (const event of events) record(store, { ...event, queue: queue.name, itemId });
}

/** The attempts start again for the policy; the history stays, and so does the death record until it succeeds. */
function sendBack(store: Store, row: Row, operation: OperationRow, { due, priority }: OperationStep): void {
  row.priority = priority ?? row.priority; // before it joins the line, which is in order of it
  moveRow(row, "redrive", dueAt(store, row, due));
  row.attemptsCounted = 0;
  row.lostCount = 0;
  row.redriveCount += 1;
  row.expiresAt = undefined;
  row.operation = operation;
}

function dueAt(store: Store, row: Row, due: OperationStep["due"]): number {
  if (!due) return store.now;
  const wait = due.sinceBurialMs[Math.min(row.redriveCount, due.sinceBurialMs.length - 1)];
  return Math.max(store.now + due.delayMs, wait === undefined ? 0 : burialOf(row).at + wait);
}
