/** The items that a letter's item was made from or sent anew as: where its story began, and where it goes on. */
import type { Engine, StoredLetter } from "../engine.ts";
import { compact } from "../item/failure.ts";
import type { Item } from "../item/item.ts";
import type { JsonObject } from "../kit/json.ts";

export type LetterLinks = Pick<Item, "requeuedFrom" | "requeuedAs">;

/** Nothing for a letter that was neither. */
export async function readLinks(
  engine: Engine,
  { itemId, queue }: Pick<StoredLetter, "itemId" | "queue">,
): Promise<LetterLinks> {
  const found = await engine.findItems(itemId, { queue, limit: 1 });
  const item = found.find((one) => one.itemId === itemId);
  const { requeuedFrom, requeuedAs } = item ?? {};
  return compact({ requeuedFrom, requeuedAs: requeuedAs?.length ? requeuedAs : undefined });
}

export function linksToJson({ requeuedFrom, requeuedAs }: LetterLinks): JsonObject {
  return compact({ requeued_from: requeuedFrom, requeued_as: requeuedAs }) as JsonObject;
}
