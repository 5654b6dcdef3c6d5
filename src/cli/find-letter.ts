/** Finding the letter of one item: waiting, resolved or discarded. */
import type { Engine, StoredLetter } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { requireJob } from "../job/find-job.ts";
import { requireItem } from "./find.ts";

/** By its id, the beginning of one, or its data; of several jobs' items of that name, the one that is a waiting letter. */
export async function requireLetter(
  engine: Engine,
  itemName: string,
  jobName?: string,
): Promise<StoredLetter> {
  const queue = jobName === undefined ? undefined : (await requireJob(engine, jobName)).id;
  const item = await requireItem(engine, itemName, queue, (one) => one.state !== "done");
  const letter = await engine.readLetter(item.ref);
  if (letter !== null) return letter;
  throw new WorkError("item_not_found", `Item ${item.itemId} is no letter: it is ${item.state}.`, {
    hint: `redrive logs ${item.queue} ${item.itemId} shows what it wrote.`,
  });
}
