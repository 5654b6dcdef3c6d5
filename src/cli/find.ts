/** Finding one item by its id, its whole content or the beginning of its id: exactly one, or an error that says which there are. */
import type { Engine, StoredLetter } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { contentId } from "../intake/identity.ts";
import type { Item } from "../item/item.ts";
import { requireJob } from "../queue/find-job.ts";

const CANDIDATES_MAX = 6;

/** `isMeant`: of several that fit, those that the command is about, such as letters; when there are none, all count. */
export async function requireItem(
  engine: Engine,
  name: string,
  queue?: string,
  isMeant: (item: Item) => boolean = () => true,
): Promise<Item> {
  const fitting = await fittingItems(engine, name, queue);
  const meant = fitting.filter(isMeant);
  const candidates = meant.length > 0 ? meant : fitting;
  const [only] = candidates;
  if (only === undefined) {
    throw new WorkError(
      "item_not_found",
      `There is no item ${name}${queue === undefined ? "" : ` in ${queue}`}.`,
      {
        hint: "`redrive dlq list` shows the letters, `redrive queue items` what is in a queue; an item is named by its id, which may be cut short, or by its data.",
      },
    );
  }
  if (candidates.length > 1) {
    const names = candidates.slice(0, CANDIDATES_MAX - 1).map((item) => `${item.itemId} (${item.queue})`);
    throw new WorkError(
      "ambiguous",
      `${name} fits several items: ${names.join(", ")}${candidates.length === CANDIDATES_MAX ? ", …" : ""}.`,
      {
        hint: howToChoose(candidates),
      },
    );
  }
  return only;
}

/** An id that is exactly this one goes before an item whose data it is, and that before ids that begin with it. */
async function fittingItems(engine: Engine, name: string, queue?: string): Promise<readonly Item[]> {
  const find = (id: string) =>
    engine.findItems(id, { limit: CANDIDATES_MAX, ...(queue !== undefined && { queue }) });
  const found = await find(name);
  const exact = found.filter((item) => item.itemId === name);
  if (exact.length > 0) return exact;
  const id = contentId(name);
  const named = (await find(id)).filter((item) => item.itemId === id);
  if (named.length > 0) return named;
  return name === "" ? [] : found; // every id begins with nothing: a variable that is not set means nobody
}

/** Only what can tell the candidates apart is asked for. */
function howToChoose(candidates: readonly Item[]): string {
  const isOneQueue = candidates.every((item) => item.queue === candidates[0]?.queue);
  const isOneId = candidates.every((item) => item.itemId === candidates[0]?.itemId);
  if (isOneQueue) return "Give more of the id.";
  return isOneId ? "Name the job with --job." : "Give more of the id, or the job with --job.";
}

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
