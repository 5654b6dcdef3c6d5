/** `redrive queue items`: a page of items, oldest first. */
import type { Engine } from "../../engine.ts";
import { requireQueue } from "../../queue/find-queue.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { answerItems, type ItemFlags, readItemPage } from "../item-page.ts";

export async function queueItems(context: Context, name: string, flags: ItemFlags): Promise<number> {
  const list = "items";
  const find = async (engine: Engine) => (await requireQueue(engine, name)).id;
  const page = await readItemPage(context, flags, { list, find });
  answerItems(context, page, { list, command: `redrive queue items ${name}`, name, flags });
  return EXIT.done;
}
