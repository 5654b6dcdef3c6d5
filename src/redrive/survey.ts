/** What a selection holds, before anything is done with it: how many, of which groups, from when to when. Only looks. */
import type { Engine, StoredLetter } from "../engine.ts";
import { toRfc3339 } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import { titleToJson } from "../triage/title.ts";
import { type Selection, selectLetters } from "./select.ts";

export interface Survey {
  readonly total: number;
  /** Largest first. */
  readonly groups: readonly SurveyGroup[];
  /** When the first and the last of them died; absent when there are none. */
  readonly oldestAt?: number;
  readonly newestAt?: number;
}

export interface SurveyGroup {
  readonly signature: string;
  readonly pattern: string;
  readonly count: number;
}

/** Asks the store's counters where it can; with CEL, or for closed letters, each is looked at. */
export async function survey(engine: Engine, selection: Selection): Promise<Survey> {
  const { filter, where } = selection;
  const isCounted = where === undefined && filter.states?.every((state) => state === "dead") === true;
  return isCounted ? surveyCounters(engine, selection) : surveyEach(engine, selection);
}

/** The form that previews print. */
export function surveyToJson({ groups, oldestAt, newestAt }: Survey): JsonObject {
  return {
    groups: groups.map(surveyGroupToJson),
    oldest: oldestAt === undefined ? null : toRfc3339(oldestAt),
    newest: newestAt === undefined ? null : toRfc3339(newestAt),
  };
}

/** The form of one of its groups. */
export function surveyGroupToJson({ signature, pattern, count }: SurveyGroup): JsonObject {
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
  const [oldest] = (await engine.listLetters({ ...filter, order: "oldest", limit: 1 })).letters;
  const newest = await engine.listLetters({ ...filter, order: "newest", limit: 1 });
  return withTimes(groups, newest.total, oldest?.lastAttempt, newest.letters[0]?.lastAttempt);
}

async function surveyEach(engine: Engine, selection: Selection): Promise<Survey> {
  const groups = new Map<string, SurveyGroup>();
  let total = 0;
  let oldest: StoredLetter | undefined;
  let newest: StoredLetter | undefined;
  for await (const letter of selectLetters(engine, selection)) {
    const { errorSignature: signature, errorPattern: pattern } = letter;
    groups.set(signature, { signature, pattern, count: (groups.get(signature)?.count ?? 0) + 1 });
    newest ??= letter;
    oldest = letter;
    total += 1;
  }
  return withTimes([...groups.values()], total, oldest?.lastAttempt, newest?.lastAttempt);
}

function withTimes(
  groups: readonly SurveyGroup[],
  total: number,
  oldestAt: number | undefined,
  newestAt: number | undefined,
): Survey {
  return {
    total,
    groups: [...groups].sort((a, b) => b.count - a.count),
    ...(oldestAt !== undefined && { oldestAt }),
    ...(newestAt !== undefined && { newestAt }),
  };
}
