/** Letters that change their group and nothing else: counters and arrivals move with them. */
import type { Regrouped } from "../../../src/engine.ts";
import type { DeathRecord } from "../../../src/item/item.ts";
import { countArrival, countWaiting, forgetArrival } from "./arrivals.ts";
import { burialOf } from "./bury.ts";
import { groupFor } from "./corrections.ts";
import { knowGroup } from "./group-records.ts";
import { enterGroup, groupKey, leaveGroup } from "./groups.ts";
import { frozenCopy, type Row, type Store } from "./store.ts";

/** The number of letters that changed their group. If one is listed twice, the first entry counts. */
export function regroup(store: Store, letters: readonly Regrouped[]): number {
  const named = new Map<number, Regrouped>();
  for (const letter of letters)
    if (!named.has(letter.letterSequence)) named.set(letter.letterSequence, letter);
  return [...named.values()].filter((letter) => {
    const row = store.letters.get(letter.letterSequence);
    return row !== undefined && regroupRow(store, row, letter);
  }).length;
}

/** Records that this algorithm grouped its current or new group. */
function regroupRow(store: Store, row: Row, { signature, pattern, algorithm }: Regrouped): boolean {
  const { death } = burialOf(row);
  const found = groupFor(store, { signature, pattern }, lastMessage(row));
  const isChanged = found.signature !== death.signature;
  if (isChanged) moveLetter(store, row, { ...death, ...found, algorithm });
  const group = store.groups.get(groupKey(row.queue.name, found.signature));
  if (group) group.algorithm = algorithm;
  return isChanged;
}

/** The message of the last failed attempt, by which groups are split. */
export function lastMessage({ attempts }: Row): string {
  return attempts.findLast(({ failure }) => failure !== undefined)?.failure?.errorMessage ?? "";
}

/** A resolved letter moves through the group as well, so that its times span the burial. */
export function moveLetter(store: Store, row: Row, death: DeathRecord): void {
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
