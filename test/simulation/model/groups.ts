/**
 * Groups of letters by (queue, signature), updated with every burial. The count is that of existing letters; the
 * times are those of the first and last failure of all letters ever in the group. A group without letters is kept
 * but not listed. Pattern, type, class and algorithm come from its first burial; its state is that of its
 * signature.
 */
import type { LetterGroup } from "../../../src/engine.ts";
import type { GroupState } from "../../../src/item/group.ts";
import { assert } from "../../../src/std/assert.ts";
import { requireRecord } from "./books.ts";
import type { Burial, GroupRow, Store } from "./store.ts";

/** Counts a new burial. */
export function enterGroup(store: Store, queue: string, { at, firstAt: first, death }: Burial): void {
  const group = store.groups.get(groupKey(queue, death.signature));
  if (!group) {
    const { signature, pattern, errorType, errorClass, algorithm } = death;
    const said = { signature, pattern, errorType, errorClass, algorithm };
    const made = { queue, ...said, count: 1, firstAt: Math.min(first, at), lastAt: at };
    store.groups.set(groupKey(queue, signature), made);
    return;
  }
  group.count += 1;
  group.firstAt = Math.min(group.firstAt, first, at);
  group.lastAt = Math.max(group.lastAt, at);
}

/** Removes a burial from the count; the times stay. */
export function leaveGroup(store: Store, queue: string, { death }: Burial): void {
  const group = store.groups.get(groupKey(queue, death.signature));
  assert(group && group.count > 0, `letter of "${queue}" has no group ${death.signature}`);
  group.count -= 1;
}

/** Largest first; equal ones by their last burial, then by signature and queue. */
export function listGroups(
  store: Store,
  filter: { readonly queue?: string; readonly states?: readonly GroupState[] },
): readonly LetterGroup[] {
  return [...store.groups.values()]
    .filter(({ count }) => count > 0)
    .filter(({ queue }) => filter.queue === undefined || queue === filter.queue)
    .sort(bySize)
    .map((group) => shownGroup(store, group))
    .filter(({ state }) => filter.states === undefined || filter.states.includes(state));
}

function shownGroup(store: Store, group: GroupRow): LetterGroup {
  const { state, isRegression } = requireRecord(store, group.signature).life;
  return { ...group, state, isRegression };
}

/** The key of a group. */
export function groupKey(queue: string, signature: string): string {
  return JSON.stringify([queue, signature]);
}

function bySize(a: GroupRow, b: GroupRow): number {
  return (
    b.count - a.count || b.lastAt - a.lastAt || order(a.signature, b.signature) || order(a.queue, b.queue)
  );
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
