/** `redrive queue items`: a page of items, oldest first. */
import { requireQueue } from "../../queue/find-queue.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { answerItems, type ItemFlags, readItemPage } from "../item-page.ts";

export async function queueItems(context: Context, name: string, flags: ItemFlags): Promise<number> {
  const page = await readItemPage(context, flags, async (engine) => (await requireQueue(engine, name)).id);
  answerItems(context, page, { list: "items", command: `redrive queue items ${name}`, name, flags });
  return EXIT.done;
}
