/** `redrive dlq inspect`: everything about one letter. */
import { WorkError } from "../../errors.ts";
import { letterToJson } from "../../item/letter.ts";
import { requireJob } from "../../job/find-job.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";
import { letterText } from "../letter-text.ts";

export async function dlqInspect(
  context: Context,
  itemName: string,
  flags: { job?: string },
): Promise<number> {
  const { letter, shared } = await context.withStore(async (engine) => {
    const job = flags.job === undefined ? undefined : (await requireJob(engine, flags.job)).id;
    const item = await requireItem(engine, itemName, job, (one) => one.state !== "done");
    const found = await engine.readLetter(item.ref);
    if (found === null) {
      throw new WorkError("item_not_found", `Item ${item.itemId} is no letter: it is ${item.state}.`, {
        hint: `redrive logs ${item.queue} ${item.itemId} shows what it wrote.`,
      });
    }
    const groups = await engine.listGroups({ queue: found.queue });
    const group = groups.find((one) => one.signature === found.errorSignature);
    return { letter: found, shared: (group?.count ?? 1) - 1 };
  });
  context.answer(letterToJson(letter), () =>
    letterText(letter, { paint: context.paint, columns: context.columns, shared }),
  );
  return EXIT.done;
}
