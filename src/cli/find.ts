/** Finding one item by the beginning of its id: exactly one, or an error that says which there are. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Item } from "../item/item.ts";

const CANDIDATES_MAX = 6;

/** `isMeant`: of several that fit, those that the command is about, such as letters; when there are none, all count. */
export async function requireItem(
  engine: Engine,
  idOrPrefix: string,
  queue?: string,
  isMeant: (item: Item) => boolean = () => true,
): Promise<Item> {
  const found = await engine.findItems(idOrPrefix, {
    limit: CANDIDATES_MAX,
    ...(queue !== undefined && { queue }),
  });
  const exact = found.filter((item) => item.itemId === idOrPrefix);
  const fitting = exact.length > 0 ? exact : found;
  const meant = fitting.filter(isMeant);
  const candidates = meant.length > 0 ? meant : fitting;
  const [only] = candidates;
  if (only === undefined) {
    throw new WorkError(
      "item_not_found",
      `There is no item ${idOrPrefix}${queue === undefined ? "" : ` in ${queue}`}.`,
      {
        hint: "`redrive dlq list` shows the letters; an item's id may be cut short.",
      },
    );
  }
  if (candidates.length > 1) {
    const names = candidates.slice(0, CANDIDATES_MAX - 1).map((item) => `${item.itemId} (${item.queue})`);
    throw new WorkError(
      "ambiguous",
      `${idOrPrefix} fits several items: ${names.join(", ")}${candidates.length === CANDIDATES_MAX ? ", …" : ""}.`,
      {
        hint: "Give more of the id, or the job with --job.",
      },
    );
  }
  return only;
}
