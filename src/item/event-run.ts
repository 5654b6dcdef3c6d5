/**
 * Events as a store keeps them: many items often have the same in one step, and a row for each would cost more than the
 * step itself. A run is one row for all of them; whoever reads gets them one by one.
 */
import type { JsonObject } from "../kit/json.ts";
import { ERROR_EVENTS } from "./error-entry.ts";
import type { EventDraft, EventType } from "./event.ts";

/** The longest run. */
export const RUN_MAX = 1000;

/** Where an event belongs, by the numbers of the store. */
export interface EventPlace {
  readonly queue?: number;
  readonly ref?: number;
  readonly attempt?: number;
}

/** What one or more items had; of several there is no data. */
export interface EventRun {
  readonly type: EventType;
  readonly data: JsonObject | undefined;
  readonly queue: number | undefined;
  readonly attempt: number | undefined;
  /** In their order; none for what is about no item. */
  readonly refs: number[];
}

/** Adds an event to the last run if it goes on with it, else as the beginning of another one. */
export function addToRuns(
  runs: EventRun[],
  { type, data }: EventDraft,
  { queue, ref, attempt }: EventPlace,
): void {
  const last = runs.at(-1);
  if (ref !== undefined && last !== undefined && goesOn(last, { type, data, queue, attempt }))
    last.refs.push(ref);
  else runs.push({ type, data, queue, attempt, refs: ref === undefined ? [] : [ref] });
}

/** Errors stay single: the error log looks for them one by one. */
function goesOn(run: EventRun, next: Omit<EventRun, "refs">): boolean {
  if (isError(next.type)) return false;
  const isAlike = run.type === next.type && run.queue === next.queue && run.attempt === next.attempt;
  const isBare = run.data === undefined && next.data === undefined;
  return isAlike && isBare && run.refs.length > 0 && run.refs.length < RUN_MAX;
}

function isError(type: EventType): boolean {
  return (ERROR_EVENTS as readonly EventType[]).includes(type);
}
