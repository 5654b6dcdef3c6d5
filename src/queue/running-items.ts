/**
 * The running attempts of a queue that have reported progress, found through the leases of its holders. Only
 * reads the store.
 */
import type { Engine } from "../engine.ts";
import type { Item } from "../item/item.ts";
import { toRfc3339 } from "../std/clock.ts";
import type { Json, JsonObject } from "../std/json.ts";

/** A running attempt and its last progress. */
export interface RunningItem {
  readonly itemId: string;
  readonly attempt: number;
  readonly at: number;
  readonly progress: Json;
}

const SHOWN_MAX = 20;

/** Returns at most 20 attempts, latest progress first. */
export async function readRunning(engine: Engine, queue: string): Promise<readonly RunningItem[]> {
  const holders = (await engine.listHolders()).filter((holder) => holder.queue === queue);
  const leases = await Promise.all(holders.map(({ id }) => engine.listLeases(id)));
  const itemIds = leases.flat().map(({ itemId }) => itemId);
  if (itemIds.length === 0) return [];
  const items = await engine.listItems({ queue, itemIds, limit: itemIds.length });
  return items
    .flatMap(runningOf)
    .sort((a, b) => b.at - a.at)
    .slice(0, SHOWN_MAX);
}

/** Ignores the progress of an earlier attempt. */
function runningOf({ itemId, state, attempts, progress }: Item): RunningItem[] {
  if (state !== "leased" || progress === undefined || progress.attempt !== attempts) return [];
  return [{ itemId, attempt: progress.attempt, at: progress.at, progress: progress.value }];
}

export function runningToJson({ itemId, attempt, at, progress }: RunningItem): JsonObject {
  return { item_id: itemId, attempt_number: attempt, at: toRfc3339(at), progress };
}
