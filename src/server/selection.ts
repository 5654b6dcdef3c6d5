/** Converts the filter of a request to a selection of letters. An unknown job or group is an error, never "all letters". */
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { type ItemState, LETTER_STATES } from "../item/state.ts";
import { requireJob } from "../queue/find-job.ts";
import { resolveSignatures } from "../redrive/groups.ts";
import { matcherOf, type Selection } from "../redrive/select.ts";
import { parseDuration } from "../std/duration.ts";
import { compact } from "../std/json.ts";
import type { LetterFilterWords } from "./contract/filter.ts";

/** The selection, and the job that it is limited to; null if it covers all jobs. */
export async function selectionOf(
  engine: Engine,
  words: LetterFilterWords,
): Promise<{ readonly selection: Selection; readonly job: Job | null }> {
  const job = await jobOf(engine, words);
  const { group, filter: where, older_than: older, newer_than: newer } = words;
  if (words.age_of !== undefined && older === undefined && newer === undefined)
    throw new RedriveError("filter_invalid", "age_of needs older_than or newer_than.");
  if (where !== undefined) await matcherOf(where); // refuses an invalid expression
  const filter = compact({
    queue: job?.id,
    itemIds: words.ids,
    signatures: group && (await resolveSignatures(engine, group)),
    types: words.type,
    classes: words.class,
    states: words.state && statesOf(words.state),
    olderThanMs: older === undefined ? undefined : parseDuration(older, "older_than"),
    newerThanMs: newer === undefined ? undefined : parseDuration(newer, "newer_than"),
    ageOf: words.age_of,
    attemptsMin: words.attempts_min,
    attemptsMax: words.attempts_max,
    eligible: words.eligible || undefined,
    text: words.search,
  });
  return { job, selection: { filter, ...compact({ where }) } };
}

/** Whether the filter has a condition besides the job. */
export function isNarrowed({ job: _, queue: __, ...conditions }: LetterFilterWords): boolean {
  return Object.values(conditions).some((one) => one !== undefined);
}

async function jobOf(engine: Engine, { job, queue }: LetterFilterWords): Promise<Job | null> {
  const named = job === undefined ? null : await requireJob(engine, job);
  const owner = queue === undefined ? null : await requireQueueOf(engine, queue);
  if (named !== null && owner !== null && named.id !== owner.id)
    throw new RedriveError("filter_invalid", `Two jobs were named: ${named.id} and ${owner.id}.`);
  return named ?? owner;
}

/** Finds a queue by its exact id, which is the id of its job. */
export async function requireQueueOf(engine: Engine, queue: string): Promise<Job> {
  const job = await engine.findJob(queue);
  if (job?.id === queue) return job;
  throw new RedriveError("job_not_found", `There is no queue ${queue}.`);
}

function statesOf(words: readonly (ItemState | "resolved" | "all")[]): readonly ItemState[] {
  if (words.includes("all")) return LETTER_STATES;
  return words.map((word) => (word === "resolved" || word === "all" ? "done" : word));
}
