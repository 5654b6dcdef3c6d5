/** The dry run of a redrive: which letters it would redrive, and which it would refuse and why. */
import type { Engine, StoredLetter } from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { titleToJson } from "../triage/title.ts";
import { type Selection, selectLetters } from "./select.ts";

export type RedrivePreview = Awaited<ReturnType<typeof previewRedrive>>;

/** Why letters would be refused, and how many for each reason; most frequent first. */
export type Refusals = readonly { readonly reason: string; readonly count: number }[];

const REASONS_MAX = 100;

/**
 * Counts letters per reason. When there are too many different reasons, the rest are counted together as
 * other reasons.
 */
export class ReasonCounts {
  readonly #counts = new Map<string, number>();

  add(reason: string): void {
    const isKept = this.#counts.has(reason) || this.#counts.size < REASONS_MAX;
    const key = isKept ? reason : "other reasons";
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  list(): Refusals {
    const refusals = [...this.#counts].map(([reason, count]) => ({ reason, count }));
    return refusals.sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
  }
}

export async function previewRedrive(engine: Engine, selection: Selection, { force }: { force: boolean }) {
  const all = await survey(engine, selection);
  const fit = force ? all : await survey(engine, judgedAs(selection, true));
  const fitOf = new Map(fit.groups.map(({ signature, count }) => [signature, count]));
  const groups = all.groups.map((group) => ({ ...group, redrivable: fitOf.get(group.signature) ?? 0 }));
  const refusals = force ? [] : await countRefusals(engine, selection);
  return { selected: all.total, redrivable: fit.total, groups, refusals };
}

export function previewToJson(preview: RedrivePreview, jobId: string | null): JsonObject {
  const { selected, redrivable, groups, refusals } = preview;
  return {
    operation_id: null,
    job_id: jobId,
    dry_run: true,
    selected,
    redriven: redrivable,
    refused: selected - redrivable,
    succeeded: 0,
    failed: 0,
    remaining: 0,
    groups: groups.map(({ redrivable: redriven, ...group }) => ({ ...surveyGroupToJson(group), redriven })),
    refusals: refusals.map((refusal) => ({ ...refusal })),
  };
}

/**
 * Restricts the selection to eligible or ineligible letters. Matches nothing if the selection requires the
 * opposite.
 */
function judgedAs({ filter, ...selection }: Selection, eligible: boolean): Selection {
  if (filter.eligible !== undefined && filter.eligible !== eligible)
    return { ...selection, filter: { ...filter, itemIds: [] } };
  return { ...selection, filter: { ...filter, eligible } };
}

async function countRefusals(engine: Engine, selection: Selection): Promise<Refusals> {
  const reasons = new ReasonCounts();
  for await (const letter of selectLetters(engine, judgedAs(selection, false)))
    reasons.add(whyIneligible(letter));
  return reasons.list();
}

function whyIneligible({ poison, manualReviewRequired, redriveCount, failureHistory }: Letter): string {
  const type = failureHistory.at(-1)?.errorType.name ?? "Unknown";
  const ofType = type === "Unknown" ? "" : ` (${type})`;
  const redrives = redriveCount === 1 ? "1 redrive" : `${redriveCount} redrives`;
  if (poison) return `poison: failed again after ${redrives}`;
  return manualReviewRequired
    ? `needs manual review${ofType}`
    : `permanent failure${ofType}: the same data would fail again`;
}

export interface Survey {
  readonly total: number;
  readonly groups: readonly SurveyGroup[];
  /** When the first and the last of the letters died; absent if there are no letters. */
  readonly oldestAt?: number;
  readonly newestAt?: number;
}

export type SurveyGroup = { readonly signature: string; readonly pattern: string; readonly count: number };

/**
 * Uses the store's counters if possible. Reads each letter if there is an expression or a state other than
 * dead.
 */
export async function survey(engine: Engine, selection: Selection): Promise<Survey> {
  const { filter, where } = selection;
  const isCounted = where === undefined && filter.states?.every((state) => state === "dead") === true;
  return isCounted ? surveyCounters(engine, selection) : surveyEach(engine, selection);
}

export function surveyToJson({ groups, oldestAt, newestAt }: Survey): JsonObject {
  return {
    groups: groups.map(surveyGroupToJson),
    oldest: oldestAt === undefined ? null : toRfc3339(oldestAt),
    newest: newestAt === undefined ? null : toRfc3339(newestAt),
  };
}

function surveyGroupToJson({ signature, pattern, count }: SurveyGroup): JsonObject {
  return { signature, ...titleToJson(pattern), pattern, count };
}

async function surveyCounters(engine: Engine, { filter }: Selection): Promise<Survey> {
  const groups: SurveyGroup[] = [];
  const { queue } = filter;
  for (const { signature, pattern } of await engine.listGroups(queue === undefined ? {} : { queue })) {
    if (filter.signatures?.includes(signature) === false) continue;
    const { total } = await engine.listLetters({ ...filter, signatures: [signature], limit: 0 });
    if (total > 0) groups.push({ signature, pattern, count: total });
  }
  const [oldest, newest] = await Promise.all(
    (["oldest", "newest"] as const).map((order) => engine.listLetters({ ...filter, order, limit: 1 })),
  );
  return surveyOf(
    groups,
    newest?.total ?? 0,
    [newest, oldest].flatMap((page) => page?.letters ?? []),
  );
}

async function surveyEach(engine: Engine, selection: Selection): Promise<Survey> {
  const groups = new Map<string, SurveyGroup>();
  const letters: StoredLetter[] = []; // the newest and the oldest letter so far
  let total = 0;
  for await (const letter of selectLetters(engine, selection)) {
    const { errorSignature: signature, errorPattern: pattern } = letter;
    groups.set(signature, { signature, pattern, count: (groups.get(signature)?.count ?? 0) + 1 });
    letters[total === 0 ? 0 : 1] = letter;
    total += 1;
  }
  return surveyOf([...groups.values()], total, letters);
}

function surveyOf(
  groups: readonly SurveyGroup[],
  total: number,
  [newest, oldest = newest]: readonly Letter[],
) {
  const times = { oldestAt: oldest?.lastAttempt, newestAt: newest?.lastAttempt };
  return { total, groups: [...groups].sort((a, b) => b.count - a.count), ...compact(times) };
}
