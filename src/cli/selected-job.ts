/** Which job's letters a command is about: the one that is named, or the only one there is. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { ItemState } from "../item/state.ts";
import { everyJob } from "../job/every-job.ts";
import { requireJob } from "../job/find-job.ts";
import type { SelectionFlags } from "./selection-words.ts";

/** The job that was named, as an argument, with `--job` or with `--queue`; they must not contradict. */
export async function jobFrom(
  engine: Engine,
  argument: string | undefined,
  flags: SelectionFlags,
): Promise<Job | null> {
  const named: Job[] = [];
  if (argument !== undefined) named.push(await requireJob(engine, argument));
  if (flags.job !== undefined) named.push(await requireJob(engine, flags.job));
  if (flags.queue !== undefined) named.push(await requireQueue(engine, flags.queue));
  const [first, ...others] = named;
  const other = others.find((job) => job.id !== first?.id);
  if (first !== undefined && other !== undefined) {
    throw new WorkError("usage", `Two jobs were named: ${first.id} and ${other.id}.`, { hint: "Name one." });
  }
  return first ?? null;
}

/** A job's queue has the job's id. */
async function requireQueue(engine: Engine, queue: string): Promise<Job> {
  const job = await engine.findJob(queue);
  if (job?.id === queue) return job;
  throw new WorkError("job_not_found", `There is no queue ${queue}.`, {
    hint: "A job's queue has the job's id; `redrive jobs` lists all.",
  });
}

const CANDIDATES_MAX = 10;

/** No job named: the only one with letters, or an error that lists those there are. */
export async function onlyJobWithLetters(engine: Engine, states?: readonly ItemState[]): Promise<Job> {
  const sums = states === undefined ? await countWaiting(engine) : await countInStates(engine, states);
  const [first, ...more] = [...sums.keys()];
  if (first === undefined) {
    throw new WorkError("item_not_found", emptyText(states), {
      hint: "`redrive dlq stats` shows what every job has.",
    });
  }
  if (more.length === 0) return requireJob(engine, first);
  const list = [...sums].slice(0, CANDIDATES_MAX).map(([queue, count]) => `${queue} (${count})`);
  throw new WorkError(
    "ambiguous",
    `${sums.size} jobs have letters: ${list.join(", ")}${sums.size > CANDIDATES_MAX ? ", …" : ""}.`,
    { hint: "Name one of them." },
  );
}

function emptyText(states: readonly ItemState[] | undefined): string {
  if (states === undefined) return "The dead letter queue is empty.";
  const words = states.map((state) => (state === "done" ? "resolved" : state));
  return `No letter is ${words.join(" or ")}.`;
}

async function countWaiting(engine: Engine): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const { queue, count } of await engine.listGroups({})) sums.set(queue, (sums.get(queue) ?? 0) + count);
  return sums;
}

async function countInStates(
  engine: Engine,
  states: readonly ItemState[],
): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for await (const { id } of everyJob(engine)) {
    const { total } = await engine.listLetters({ queue: id, states, limit: 0 });
    if (total > 0) sums.set(id, total);
  }
  return sums;
}
