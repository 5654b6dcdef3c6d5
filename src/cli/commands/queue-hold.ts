/** `redrive queue hold` and `queue release`: items out of the line, and back into it. */
import type { Engine, HoldBy, HoldReport } from "../../engine.ts";
import { requireQueue } from "../../queue/find-queue.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";
import { requireText } from "../option.ts";

interface HoldFlags {
  readonly reason?: string;
}

type Move = (engine: Engine, queue: string, itemIds: readonly string[], by: HoldBy) => Promise<HoldReport>;

export function queueHold(
  context: Context,
  name: string,
  items: string[],
  flags: HoldFlags,
): Promise<number> {
  const move: Move = (engine, queue, itemIds, by) => engine.hold(queue, itemIds, by);
  return moveItems(context, { name, items, flags }, { move, past: "held", needs: "ready" });
}

export function queueRelease(
  context: Context,
  name: string,
  items: string[],
  flags: HoldFlags,
): Promise<number> {
  const move: Move = (engine, queue, itemIds, by) => engine.unhold(queue, itemIds, by);
  return moveItems(context, { name, items, flags }, { move, past: "released", needs: "held" });
}

interface Words {
  readonly name: string;
  readonly items: readonly string[];
  readonly flags: HoldFlags;
}

async function moveItems(
  context: Context,
  { name, items, flags }: Words,
  { move, past, needs }: { readonly move: Move; readonly past: string; readonly needs: string },
): Promise<number> {
  const reason = flags.reason === undefined ? {} : { reason: requireText("--reason", flags.reason) };
  const by = { author: authorOf(context.terminal.env), ...reason };
  const { moved, refused } = await context.withStore(async (engine) => {
    const { id: queue } = await requireQueue(engine, name);
    const itemIds = new Set<string>();
    for (const word of items) itemIds.add((await requireItem(engine, word, queue)).itemId);
    return move(engine, queue, [...itemIds], by);
  });
  const document = {
    queue: name,
    [past]: moved,
    refused: refused.map(({ itemId, state }) => ({ item_id: itemId, state })),
  };
  context.answer(document, () => `${moved === 1 ? "1 item" : `${moved} items`} of ${name} ${past}.\n`);
  if (!context.isJson)
    for (const { itemId, state } of refused)
      context.note(`${itemId} is ${state ?? "gone"}: only an item that is ${needs} can be ${past}.`);
  return refused.length > 0 ? EXIT.refused : EXIT.done;
}
