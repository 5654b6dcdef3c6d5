/** Letters that change their group while everything else about them stays: counters and arrivals follow. */
import type { Regrouped } from "../../../src/engine.ts";
import type { DeathRecord } from "../../../src/item/item.ts";
import { countArrival, countWaiting, forgetArrival } from "./arrivals.ts";
import { burialOf } from "./bury.ts";
import { groupFor } from "./corrections.ts";
import { knowGroup } from "./group-records.ts";
import { enterGroup, groupKey, leaveGroup } from "./groups.ts";
import { frozenCopy, type Row, type Store } from "./store.ts";

/** How many changed their group. Of one that is named twice, the first naming counts. */
export function regroup(store: Store, letters: readonly Regrouped[]): number {
  const named = new Map<number, Regrouped>();
  for (const letter of letters)
    if (!named.has(letter.letterSequence)) named.set(letter.letterSequence, letter);
  return [...named.values()].filter((letter) => {
    const row = store.letters.get(letter.letterSequence);
    return row !== undefined && regroupRow(store, row, letter);
  }).length;
}

/** The group that it has or gets was grouped by this algorithm from now on. */
function regroupRow(store: Store, row: Row, { signature, pattern, algorithm }: Regrouped): boolean {
  const { death } = burialOf(row);
  const found = groupFor(store, { signature, pattern }, lastMessage(row));
  const isChanged = found.signature !== death.signature;
  if (isChanged) move(store, row, { ...death, ...found, algorithm });
  const group = store.groups.get(groupKey(row.queue.name, found.signature));
  if (group) group.algorithm = algorithm;
  return isChanged;
}

/** The message of the last failed attempt, by which groups are split. */
function lastMessage({ attempts }: Row): string {
  return attempts.findLast(({ failure }) => failure !== undefined)?.failure?.errorMessage ?? "";
}

/** A closed letter passes through the group as well, so that its times span the burial. */
function move(store: Store, row: Row, death: DeathRecord): void {
  const queue = row.queue.name;
  const isWaiting = row.resolution === undefined;
  if (isWaiting) {
    leaveGroup(store, queue, burialOf(row));
    countWaiting(store, queue, burialOf(row), -1);
  }
  forgetArrival(store, queue, burialOf(row));
  row.burial = { ...burialOf(row), death: frozenCopy(death) };
  knowGroup(store, row);
  countArrival(store, queue, row.burial);
  enterGroup(store, queue, row.burial);
  if (isWaiting) countWaiting(store, queue, row.burial, 1);
  else leaveGroup(store, queue, row.burial);
}
