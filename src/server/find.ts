/** Finds items and letters by their exact ids. Unlike the command line, the API accepts no id prefixes. */
import type { Engine, StoredLetter } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Item } from "../item/item.ts";
import { requireQueueOf } from "./selection.ts";

export interface ItemAddress {
  readonly queue: string;
  readonly item_id: string;
}

export async function requireExactItem(
  engine: Engine,
  { queue, item_id: itemId }: ItemAddress,
): Promise<Item> {
  const { id } = await requireQueueOf(engine, queue);
  const [item] = await engine.listItems({ queue: id, itemIds: [itemId], limit: 1 });
  if (item !== undefined) return item;
  throw new RedriveError("item_not_found", `There is no item ${itemId} in ${queue}.`);
}

export async function requireExactLetter(engine: Engine, address: ItemAddress): Promise<StoredLetter> {
  const { ref, state, itemId } = await requireExactItem(engine, address);
  const letter = await engine.readLetter(ref);
  if (letter !== null) return letter;
  throw new RedriveError("item_not_found", `Item ${itemId} is not a letter: it is ${state}.`);
}
