/** Makes an item a letter, or one no more, and keeps the counters of queue and group that follow from it. */
import type { Grave } from "../../item/item.ts";
import { enterGroup, leaveGroup } from "./groups.ts";
import { type Burial, frozenCopy, type Row, type Store } from "./store.ts";

/** Buries the item. One that was redriven and died again is the same letter under a new gravestone. */
export function buryRow(store: Store, row: Row, grave: Grave): void {
  unburyRow(store, row);
  store.burials += 1;
  const burial: Burial = { number: store.burials, at: store.now, grave: frozenCopy(grave) };
  row.burial = burial;
  row.queue.letters += 1;
  store.letters.add(row);
  enterGroup(store, row.queue.name, burial);
}

/** Takes the gravestone away, if there is one. The attempts and their failures stay. */
export function unburyRow(store: Store, row: Row): void {
  if (!row.burial) return;
  leaveGroup(store, row.queue.name, row.burial);
  store.letters.delete(row);
  row.queue.letters -= 1;
  row.burial = undefined;
}
