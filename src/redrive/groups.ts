/**
 * Groups over all queues: the letters of one signature are one group, whatever job they are of. Reads what the store has
 * counted; no letter is looked at, but for a few samples.
 */
import type { Engine, LetterGroup } from "../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import { type GroupMark, type GroupState, groupMarkToJson } from "../item/group.ts";
import { toRfc3339 } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import { ALGORITHM } from "../triage/signature.ts";
import { titleToJson } from "../triage/title.ts";

/** One group, over all queues or those that were asked for. */
export interface GroupSummary {
  readonly signature: string;
  readonly pattern: string;
  /** Letters that wait. 0 for a group whose letters are gone. */
  readonly count: number;
  /** Of the largest part of it; absent when it has no letters. */
  readonly errorType?: ErrorTypeName;
  readonly errorClass?: ErrorClass;
  readonly firstAt?: number;
  readonly lastAt?: number;
  /** The jobs that have letters of it, those with the most first. */
  readonly jobs: readonly string[];
  readonly state: GroupState;
  readonly isRegression: boolean;
  /** The versions of the algorithm that grouped its letters. */
  readonly algorithms: readonly string[];
}

/** The groups that are wanted, and what else there is. */
export interface GroupList {
  /** Largest first. */
  readonly groups: readonly GroupSummary[];
  /** How many groups of other states were left out. */
  readonly leftOut: Readonly<Record<GroupState, number>>;
  /** Letters that an older algorithm grouped, in all states. */
  readonly outdated: Outdated;
}

export interface Outdated {
  readonly letters: number;
  readonly algorithms: readonly string[];
}

/** Groups of these states. An open one without letters is of no interest to anybody, unless all are asked for. */
export async function listGroups(
  engine: Engine,
  { queue, states }: { readonly queue?: string; readonly states: readonly GroupState[] },
): Promise<GroupList> {
  const counted = await engine.listGroups(queue === undefined ? {} : { queue });
  const withLetters = joinGroups(counted);
  const known = new Set(withLetters.map(({ signature }) => signature));
  const marks = queue === undefined ? await engine.listMarks({ states: ["resolved", "ignored"] }) : [];
  const empty = marks.filter(({ signature }) => !known.has(signature)).map(withoutLetters);
  const all = [...withLetters, ...empty];
  const leftOut = { open: 0, resolved: 0, ignored: 0 };
  for (const { state } of all) if (!states.includes(state)) leftOut[state] += 1;
  return {
    groups: all.filter(({ state }) => states.includes(state)),
    leftOut,
    outdated: outdatedIn(counted),
  };
}

/** One group per signature, largest first. The largest part of it says what it is called. Pure. */
export function joinGroups(groups: readonly LetterGroup[]): readonly GroupSummary[] {
  const joined = new Map<string, GroupSummary>();
  for (const group of [...groups].sort((a, b) => b.count - a.count)) {
    const known = joined.get(group.signature);
    joined.set(group.signature, known === undefined ? summaryOf(group) : withPart(known, group));
  }
  return [...joined.values()].sort(byCount);
}

function summaryOf({ queue, algorithm, ...group }: LetterGroup): GroupSummary {
  return { ...group, jobs: [queue], algorithms: [algorithm] };
}

function withPart(group: GroupSummary, part: LetterGroup): GroupSummary {
  return {
    ...group,
    count: group.count + part.count,
    firstAt: Math.min(group.firstAt ?? part.firstAt, part.firstAt),
    lastAt: Math.max(group.lastAt ?? part.lastAt, part.lastAt),
    jobs: withOne(group.jobs, part.queue),
    algorithms: withOne(group.algorithms, part.algorithm),
  };
}

function withOne(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names : [...names, name];
}

function byCount(a: GroupSummary, b: GroupSummary): number {
  return b.count - a.count || (b.lastAt ?? 0) - (a.lastAt ?? 0) || (a.signature < b.signature ? -1 : 1);
}

function withoutLetters({ signature, pattern, state, isRegression }: GroupMark): GroupSummary {
  return { signature, pattern, count: 0, jobs: [], state, isRegression, algorithms: [] };
}

function outdatedIn(groups: readonly LetterGroup[]): Outdated {
  const old = groups.filter(({ algorithm }) => algorithm !== ALGORITHM);
  return {
    letters: old.reduce((sum, { count }) => sum + count, 0),
    algorithms: [...new Set(old.map(({ algorithm }) => algorithm))].sort(),
  };
}

/** How many letters stand for their group. */
export const GROUP_SAMPLES_MAX = 3;

/** The ids of a few letters that wait, newest first. */
export async function sampleItems(
  engine: Engine,
  signature: string,
  queue?: string,
): Promise<readonly string[]> {
  const query = { signatures: [signature], limit: GROUP_SAMPLES_MAX, ...(queue !== undefined && { queue }) };
  return (await engine.listLetters(query)).letters.map(({ itemId }) => itemId);
}

/** Everything about one group. */
export interface GroupView {
  readonly group: GroupSummary;
  readonly mark: GroupMark;
  readonly samples: readonly string[];
}

/** The letters of a group that wait, and what is known of its signature. */
export async function viewGroup(engine: Engine, mark: GroupMark): Promise<GroupView> {
  const groups = joinGroups(await engine.listGroups({}));
  const found = groups.find(({ signature }) => signature === mark.signature) ?? withoutLetters(mark);
  return { group: found, mark, samples: await sampleItems(engine, mark.signature) };
}

/** The form of a group outside the process. */
export function groupToJson(group: GroupSummary, samples: readonly string[]): JsonObject {
  return {
    signature: group.signature,
    ...titleToJson(group.pattern),
    pattern: group.pattern,
    count: group.count,
    error_type: group.errorType ?? null,
    error_class: group.errorClass ?? null,
    first_occurrence: group.firstAt === undefined ? null : toRfc3339(group.firstAt),
    last_occurrence: group.lastAt === undefined ? null : toRfc3339(group.lastAt),
    jobs: [...group.jobs],
    state: group.state,
    is_regression: group.isRegression,
    sample_items: [...samples],
    algorithms: [...group.algorithms],
  };
}

/** The same with what is known of its signature. */
export function groupViewToJson({ group, mark, samples }: GroupView): JsonObject {
  return { ...groupToJson(group, samples), ...groupMarkToJson(mark) };
}
