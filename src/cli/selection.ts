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
  /** Leaves out named items that are not there, unless none is. Default: they are an error. */
  readonly skipsUnknown?: boolean;
}

/** The job that is named, else that of the named items, else the only one with letters; and the selection in it. */
export async function resolveBulk(
  engine: Engine,
  { job: word, items, flags, states, skipsUnknown = false }: BulkWords,
): Promise<{ readonly job: Job; readonly selection: Selection; readonly unknown: readonly string[] }> {
  const selection = await selectionIn(engine, flags);
  if (selection.where !== undefined) await matcherOf(selection.where); // refused before anything is looked at
  const isItem = items !== undefined && word !== undefined && (await isNoJob(engine, word));
  const named = await jobFrom(engine, isItem ? undefined : word, flags);
  const names = isItem ? [word, ...items] : (items ?? []);
  const found = await findLetters(engine, names, {
    queue: named?.id,
    word: isItem ? word : undefined,
    states: selection.filter.states ?? states ?? ["dead"],
    skipsUnknown,
  });
  const job = named ?? found.job ?? (await onlyJobWithLetters(engine, selection.filter.states ?? states));
  const itemIds = names.length > 0 ? { itemIds: found.itemIds } : {};
  const filter = { ...selection.filter, queue: job.id, ...itemIds };
  return { job, selection: { ...selection, filter }, unknown: found.unknown };
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
  { queue, word, states, skipsUnknown }: Named,
): Promise<FoundLetters> {
  const itemIds: string[] = [];
  const unknown: string[] = [];
  let firstError: unknown;
  let home = queue;
  const isMeant = (item: Item) => states.includes(item.state);
  for (const name of names) {
    try {
      const item = await requireItem(engine, name, home, isMeant);
      home = item.queue;
      itemIds.push(item.itemId);
    } catch (error) {
      const told = name === word ? neitherJobNorItem(error, name) : error;
      if (!skipsUnknown || !isUnknown(error)) throw told;
      firstError ??= told;
      unknown.push(name);
    }
  }
  if (firstError !== undefined && itemIds.length === 0) throw firstError;
  const found = { itemIds, unknown };
  return home === undefined ? found : { ...found, job: await requireJob(engine, home) };
}

interface Named {
  readonly queue: string | undefined;
  /** The word that might have been a job. */
  readonly word: string | undefined;
  readonly states: readonly ItemState[];
  readonly skipsUnknown: boolean;
}

interface FoundLetters {
  readonly itemIds: readonly string[];
  readonly unknown: readonly string[];
  readonly job?: Job;
}

function isUnknown(error: unknown): boolean {
  return error instanceof WorkError && error.code === "item_not_found";
}

function neitherJobNorItem(error: unknown, word: string): unknown {
  if (!(error instanceof WorkError) || error.code !== "item_not_found") return error;
  return new WorkError("job_not_found", `There is no job and no item ${word}.`, {
    hint: "`redrive jobs` lists the jobs, `redrive dlq list` the letters.",
  });
}
