/**
 * The running attempts of a queue with their last progress, found through the leases of its holders. Only reads the store.
 */
import type { Engine } from "../engine.ts";
import { activityFromJson, VERIFY_STEP } from "../item/agent-activity.ts";
import { itemName, type LeasedItem, type Progress } from "../item/item.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";

/** A running attempt, and its last progress if it has reported any. */
export interface RunningItem {
  readonly itemId: string;
  readonly name: string;
  readonly attempt: number;
  readonly startedAt: number;
  readonly progress?: Progress;
}

const SHOWN_MAX = 20;

/**
 * Returns at most 20 attempts, longest running first, with items that wait for verification last; with
 * `reportedOnly`, only those that have reported progress.
 */
export async function readRunning(
  engine: Engine,
  queue: string,
  { reportedOnly = true }: { readonly reportedOnly?: boolean } = {},
): Promise<readonly RunningItem[]> {
  const holders = await engine.listHolders({ queue });
  const leases = (await Promise.all(holders.map(({ id }) => engine.listLeases(id)))).flat();
  if (leases.length === 0) return [];
  const itemIds = leases.map(({ itemId }) => itemId);
  const items = await engine.listItems({ queue, itemIds, limit: itemIds.length });
  const progressOf = new Map(items.map(({ itemId, progress }) => [itemId, progress]));
  return leases
    .map((lease) => runningOf(lease, progressOf.get(lease.itemId)))
    .filter(({ progress }) => !reportedOnly || progress !== undefined)
    .sort((a, b) => Number(isVerified(a)) - Number(isVerified(b)) || a.startedAt - b.startedAt)
    .slice(0, SHOWN_MAX);
}

function isVerified({ progress }: RunningItem): boolean {
  return progress !== undefined && activityFromJson(progress.value)?.step === VERIFY_STEP;
}

/** Ignores the progress of an earlier attempt. */
function runningOf(lease: LeasedItem, progress: Progress | undefined): RunningItem {
  const { itemId, attempt, startedAt } = lease;
  const own = progress?.attempt === attempt ? progress : undefined;
  return compact({ itemId, name: itemName(lease), attempt, startedAt, progress: own });
}

export function runningToJson({ itemId, attempt, startedAt, progress }: RunningItem): JsonObject {
  return compact({
    item_id: itemId,
    attempt_number: attempt,
    started_at: toRfc3339(startedAt),
    at: progress && toRfc3339(progress.at),
    progress: progress?.value,
  });
}
