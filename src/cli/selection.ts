/** From the words of a command on many letters to the job and the letters that are meant. Nothing that was given is ignored. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Item } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { ItemState } from "../item/state.ts";
import { requireJob } from "../job/find-job.ts";
import { matcherOf, type Selection } from "../redrive/select.ts";
import { requireItem } from "./find.ts";
import { selectionIn } from "./selected-groups.ts";
import { jobFrom, onlyJobWithLetters } from "./selected-job.ts";
import type { SelectionFlags } from "./selection-words.ts";

export { selectionIn } from "./selected-groups.ts";
export { jobFrom, onlyJobWithLetters } from "./selected-job.ts";
export { checkSelection, type SelectionFlags, selectionFrom } from "./selection-words.ts";

/** What a bulk command was given. */
export interface BulkWords {
  /** The first argument. Where the command takes items too, it is one when there is no such job. */
  readonly job?: string | undefined;
  /** Absent for a command that takes no items: its argument is never taken for one. */
  readonly items?: readonly string[] | undefined;
  readonly flags: SelectionFlags;
  /** In which states the command's letters are. Default: those that wait. `--state` goes before it. */
  readonly states?: readonly ItemState[];
}

/** The job that is named, else that of the named items, else the only one with letters; and the selection in it. */
export async function resolveBulk(
  engine: Engine,
  { job: word, items, flags, states }: BulkWords,
): Promise<{ readonly job: Job; readonly selection: Selection }> {
  const selection = await selectionIn(engine, flags);
  if (selection.where !== undefined) await matcherOf(selection.where); // refused before anything is looked at
  const isItem = items !== undefined && word !== undefined && (await isNoJob(engine, word));
  const named = await jobFrom(engine, isItem ? undefined : word, flags);
  const names = isItem ? [word, ...items] : (items ?? []);
  const found = await findLetters(engine, names, {
    queue: named?.id,
    word: isItem ? word : undefined,
    states: selection.filter.states ?? states ?? ["dead"],
  });
  const job = named ?? found.job ?? (await onlyJobWithLetters(engine, selection.filter.states ?? states));
  const itemIds = names.length > 0 ? { itemIds: found.itemIds } : {};
  return { job, selection: { ...selection, filter: { ...selection.filter, queue: job.id, ...itemIds } } };
}

async function isNoJob(engine: Engine, word: string): Promise<boolean> {
  try {
    await requireJob(engine, word);
    return false;
  } catch (error) {
    if (error instanceof WorkError && error.code === "job_not_found") return true;
    throw error;
  }
}

/** The ids of the named items, and the one job that they are of. */
async function findLetters(
  engine: Engine,
  names: readonly string[],
  {
    queue,
    word,
    states,
  }: { queue: string | undefined; word: string | undefined; states: readonly ItemState[] },
): Promise<{ readonly itemIds: readonly string[]; readonly job?: Job }> {
  const itemIds: string[] = [];
  let home = queue;
  const isMeant = (item: Item) => states.includes(item.state);
  for (const name of names) {
    const item = await requireItem(engine, name, home, isMeant).catch((error) => {
      throw name === word ? neitherJobNorItem(error, name) : error;
    });
    home = item.queue;
    itemIds.push(item.itemId);
  }
  return home === undefined ? { itemIds } : { itemIds, job: await requireJob(engine, home) };
}

function neitherJobNorItem(error: unknown, word: string): unknown {
  if (!(error instanceof WorkError) || error.code !== "item_not_found") return error;
  return new WorkError("job_not_found", `There is no job and no item ${word}.`, {
    hint: "`redrive jobs` lists the jobs, `redrive dlq list` the letters.",
  });
}
