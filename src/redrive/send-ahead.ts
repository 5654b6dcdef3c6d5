/**
 * Sends all letters of a redrive back to work at once, for runners that come later: its delay and its rate become the
 * times at which the letters are due.
 */
import type { Engine } from "../engine.ts";
import type { Operation } from "../item/operation.ts";
import type { Patience } from "../runner/patience.ts";
import { SINCE_BURIAL_MS } from "./letter-backoff.ts";
import { planOf } from "./plan.ts";

/** Small enough that other writers get their turn. */
const CHUNK_MAX = 2000;

/** With a rate, the letters of one second are due together. */
const TOGETHER_MS = 1000;

/** Ends when everything is sent or refused, or the operation is not open any more. */
export async function sendAhead(begun: Operation, engine: Engine, patience: Patience): Promise<Operation> {
  const { rate, delayMs = 0, priority } = planOf(begun);
  const intervalMs = rate ? rate.perMs / rate.letters : 0;
  const chunk = rate ? Math.max(1, Math.floor(TOGETHER_MS / intervalMs)) : CHUNK_MAX;
  const sinceBurialMs = begun.force ? [0] : SINCE_BURIAL_MS;
  let operation = begun;
  let dueInMs = Math.max(0, begun.createdAt + delayMs - (await patience.through(() => engine.now())));
  while (operation.status === "open" && operation.done + operation.refused < operation.selected) {
    const due = { delayMs: Math.round(dueInMs), sinceBurialMs };
    const step = { max: Math.min(chunk, CHUNK_MAX), due, ...(priority !== undefined && { priority }) };
    const before = operation.done;
    operation = await patience.through(() => engine.advance(begun.id, step));
    dueInMs += (operation.done - before) * intervalMs;
  }
  return operation;
}
