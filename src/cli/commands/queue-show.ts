/** `redrive queue show`: a queue with its settings, or one item of it. */
import { requireQueue } from "../../queue/find-queue.ts";
import { itemViewToJson } from "../../queue/item-json.ts";
import { queueToJson, summariseQueue } from "../../queue/look.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";
import { itemText } from "../item-text.ts";
import { queueText } from "../queue-text.ts";

export async function queueShow(
  context: Context,
  name: string,
  itemName: string | undefined,
): Promise<number> {
  if (itemName !== undefined) return showItem(context, name, itemName);
  const queue = await context.withStore(async (engine) =>
    summariseQueue(engine, await requireQueue(engine, name)),
  );
  context.answer(queueToJson(queue), () => queueText(queue, context));
  return EXIT.done;
}

async function showItem(context: Context, name: string, itemName: string): Promise<number> {
  const view = await context.withStore(async (engine) => {
    const item = await requireItem(engine, itemName, (await requireQueue(engine, name)).id);
    const attempts = await engine.listAttempts(item.ref);
    return { item, attempts, notes: await engine.listNotes(item.ref) };
  });
  context.answer(itemViewToJson(view), () => itemText(view, context));
  return EXIT.done;
}
