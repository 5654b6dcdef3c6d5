/** Lists and finds groups across all queues: letters with the same signature, whichever job they belong to. */
import type { Engine, GroupOrder, GroupPage, GroupQuery, LetterGroup } from "../engine.ts";
import { isError, RedriveError } from "../errors.ts";
import { type UsageSum, usageToJson } from "../item/agent-run.ts";
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import {
  type Correction,
  GROUP_STATES,
  type GroupFix,
  type GroupRecord,
  type GroupState,
  groupRecordToJson,
} from "../item/group.ts";
import { IMPORTED } from "../item/imported-letter.ts";
import type { Operation } from "../item/operation.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { ALGORITHM } from "../triage/signature.ts";
import { titleLine, titleToJson } from "../triage/title.ts";
import { withAssignees } from "./assignees.ts";

/** One group in all queues or in the requested one. */
export interface GroupSummary {
  readonly signature: string;
  readonly pattern: string;
  /** Waiting letters; 0 if the group has none left. */
  readonly count: number;
  /** The error type in the queue with the most letters of this group; absent if the group has no letters. */
  readonly errorType?: ErrorTypeName;
  readonly errorClass?: ErrorClass;
  readonly firstAt?: number;
  readonly lastAt?: number;
  /** The jobs that have letters in this group, ordered by their number of letters. */
  readonly jobs: readonly string[];
  readonly state: GroupState;
  readonly isRegression: boolean;
  /** The algorithm versions that computed the letters' signatures. */
  readonly algorithms: readonly string[];
  /** The usage of agents for the waiting letters, in all attempts. Absent if none has run. */
  readonly usage?: UsageSum["usage"];
  /** The person assigned to the group. */
  readonly assignee?: string;
}

export interface GroupList {
  readonly groups: readonly GroupSummary[];
  /** How many groups are in the requested states, on all pages. */
  readonly total: number;
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null;
  /** How many groups in other states the list omits. */
  readonly leftOut: Readonly<Record<GroupState, number>>;
  /** Letters grouped by an older algorithm, in all states. */
  readonly outdated: { readonly letters: number; readonly algorithms: readonly string[] };
}

export interface GroupRequest {
  readonly queue?: string;
  readonly states: readonly GroupState[];
  /** Default `letters`. */
  readonly order?: GroupOrder;
  /** A text in the title or the location, ignoring case. */
  readonly search?: string;
  /** Only groups assigned to this person. */
  readonly assignee?: string;
  /** Default: all groups. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** More groups than a store can have. */
const ALL_GROUPS = 1_000_000_000;

/** Lists groups in these states, largest first. Open groups without letters are left out. */
export async function listGroups(engine: Engine, request: GroupRequest): Promise<GroupList> {
  const { search, assignee, cursor, limit = ALL_GROUPS, ...query } = request;
  if (search === undefined && assignee === undefined)
    return readPage(engine, { ...query, limit, ...compact({ cursor }) });
  // Titles are computed from patterns, so all groups are read; the cursor is the number of matches before the page.
  const all = await readPage(engine, { ...query, limit: ALL_GROUPS });
  const found = all.groups
    .filter(search === undefined ? () => true : containing(search))
    .filter((group) => assignee === undefined || group.assignee === assignee);
  const start = Number(cursor ?? 0);
  if (!Number.isSafeInteger(start))
    throw new RedriveError("usage", `"${cursor}" is not a valid cursor for groups.`);
  const end = start + limit;
  const next = end < found.length ? String(end) : null;
  return { ...all, groups: found.slice(start, end), total: found.length, next };
}

function containing(text: string): (group: GroupSummary) => boolean {
  const wanted = text.toLowerCase();
  return ({ pattern }) => Object.values(titleToJson(pattern)).join(" ").toLowerCase().includes(wanted);
}

async function readPage(engine: Engine, query: GroupQuery): Promise<GroupList> {
  const page = await engine.pageGroups(query);
  const joined = await withUsage(engine, joinGroups(page.groups), query.queue);
  const known = new Map(joined.map((group) => [group.signature, group]));
  const groups: GroupSummary[] = [];
  for (const signature of page.signatures) {
    const group = known.get(signature) ?? (await emptyGroup(engine, signature));
    if (group !== null) groups.push(group);
  }
  const leftOut = { open: 0, resolved: 0, ignored: 0 };
  let total = 0;
  for (const state of GROUP_STATES) {
    if (query.states.includes(state)) total += page.counts[state];
    else leftOut[state] = page.counts[state];
  }
  const assigned = await withAssignees(engine, groups);
  return { groups: assigned, total, next: page.next, leftOut, outdated: outdatedIn(page.algorithms) };
}

async function withUsage(
  engine: Engine,
  groups: readonly GroupSummary[],
  queue?: string,
): Promise<readonly GroupSummary[]> {
  if (groups.length === 0) return groups;
  const signatures = groups.map(({ signature }) => signature);
  const sums = await engine.sumAgentUsage({ by: "group", signatures, ...compact({ queue }) });
  const usageOf = new Map(sums.map(({ key, usage }) => [key, { usage }]));
  return groups.map((group) => ({ ...group, ...usageOf.get(group.signature) }));
}

async function emptyGroup(engine: Engine, signature: string): Promise<GroupSummary | null> {
  const record = await engine.readGroup(signature);
  return record === null ? null : withoutLetters(record);
}

/**
 * Returns one group per signature, largest first. Pattern and type come from the queue with the most letters.
 */
export function joinGroups(groups: readonly LetterGroup[]): readonly GroupSummary[] {
  const joined = new Map<string, GroupSummary>();
  for (const group of [...groups].sort((a, b) => b.count - a.count)) {
    const known = joined.get(group.signature);
    joined.set(group.signature, known === undefined ? summaryOf(group) : withPart(known, group));
  }
  return [...joined.values()].sort(byCount);
}

/** Names each field, because copying the rest of an object takes much longer, and a page calls this for every group. */
function summaryOf(group: LetterGroup): GroupSummary {
  const { signature, pattern, count, errorType, errorClass, firstAt, lastAt, state, isRegression } = group;
  const jobs = [group.queue];
  const algorithms = [group.algorithm];
  return {
    signature,
    pattern,
    count,
    errorType,
    errorClass,
    firstAt,
    lastAt,
    jobs,
    state,
    isRegression,
    algorithms,
  };
}

function withPart(group: GroupSummary, part: LetterGroup): GroupSummary {
  return {
    ...group,
    count: group.count + part.count,
    firstAt: Math.min(group.firstAt ?? part.firstAt, part.firstAt),
    lastAt: Math.max(group.lastAt ?? part.lastAt, part.lastAt),
    jobs: [...new Set([...group.jobs, part.queue])],
    algorithms: [...new Set([...group.algorithms, part.algorithm])],
  };
}

function byCount(a: GroupSummary, b: GroupSummary): number {
  return b.count - a.count || (b.lastAt ?? 0) - (a.lastAt ?? 0) || (a.signature < b.signature ? -1 : 1);
}

function withoutLetters({ signature, pattern, state, isRegression }: GroupRecord): GroupSummary {
  return { signature, pattern, count: 0, jobs: [], state, isRegression, algorithms: [] };
}

/** Ignores imported letters: most were grouped during the import, and the others keep the group from their file. */
function outdatedIn(counts: GroupPage["algorithms"]): GroupList["outdated"] {
  const old = counts.filter(({ algorithm }) => algorithm !== ALGORITHM && algorithm !== IMPORTED);
  return {
    letters: old.reduce((sum, { letters }) => sum + letters, 0),
    algorithms: old.map(({ algorithm }) => algorithm),
  };
}

export const GROUP_SAMPLES_MAX = 3;

export async function sampleItems(engine: Engine, signature: string, queue?: string): Promise<string[]> {
  const query = { signatures: [signature], limit: GROUP_SAMPLES_MAX, ...(queue !== undefined && { queue }) };
  return (await engine.listLetters({ ...query, parts: [], counted: false })).letters.map(
    ({ itemId }) => itemId,
  );
}

export interface GroupView {
  readonly group: GroupSummary;
  readonly record: GroupRecord;
  readonly samples: readonly string[];
}

export async function viewGroup(engine: Engine, record: GroupRecord): Promise<GroupView> {
  const joined = joinGroups(await engine.listGroups({ signatures: [record.signature] }));
  const used = await withUsage(engine, joined);
  const [group = withoutLetters(record)] = await withAssignees(engine, [used[0] ?? withoutLetters(record)]);
  return { group, record, samples: await sampleItems(engine, record.signature) };
}

/** The JSON form of a group. */
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
    ...(group.usage && { usage: usageToJson(group.usage) }),
    ...compact({ assignee: group.assignee }),
  };
}

export function groupViewToJson({ group, record, samples }: GroupView): JsonObject {
  return { ...groupToJson(group, samples), ...groupRecordToJson(record) };
}

const CANDIDATES_MAX = 5;

/** Finds a group, also a merged one. Throws `group_not_found`, or `ambiguous` with the candidates. */
export async function requireGroup(engine: Engine, word: string): Promise<GroupRecord> {
  const found = await fittingGroups(engine, word);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new RedriveError("group_not_found", `There is no group ${word === "" ? '""' : word}.`, {
      hint: "Run `redrive groups list --state all` to list them. Give a signature, a unique prefix of it, or a rule name.",
    });
  }
  if (others.length === 0) return only;
  const names = found.map(({ signature, pattern }) => `  ${signature}  ${titleLine(pattern)}`);
  if (names.length > CANDIDATES_MAX)
    names.splice(CANDIDATES_MAX, names.length, `  and ${found.length - CANDIDATES_MAX} more`);
  throw new RedriveError("ambiguous", `"${word}" matches ${found.length} groups:\n${names.join("\n")}`, {
    hint: "Give a longer prefix of the signature.",
  });
}

/** Finds the group that now contains the letters, following merges. */
export async function requireLiveGroup(engine: Engine, word: string): Promise<GroupRecord> {
  const record = await requireGroup(engine, word);
  const signature = mergedInto(record.signature, await engine.listCorrections());
  return signature === record.signature ? record : ((await engine.readGroup(signature)) ?? record);
}

/**
 * Resolves signatures, unique prefixes or group names to the current signatures of those groups, following
 * merges.
 */
export async function resolveSignatures(
  engine: Engine,
  words: readonly string[],
): Promise<readonly string[]> {
  const corrections = await engine.listCorrections();
  const signatures: string[] = [];
  for (const word of words) signatures.push(mergedInto(await signatureFor(engine, word), corrections));
  return signatures;
}

/** A complete signature need not exist; an unknown one selects nothing. */
async function signatureFor(engine: Engine, word: string): Promise<string> {
  if (/^[0-9a-f]{16}$/.test(word)) return word;
  try {
    return (await requireGroup(engine, word)).signature;
  } catch (error) {
    if (isError(error, "group_not_found")) throw unknownGroup(word);
    throw error;
  }
}

/** An unknown group in a filter is an error, because the filter must not select all letters instead. */
export function unknownGroup(word: string): RedriveError {
  return new RedriveError("filter_invalid", `--group: no group has the signature or name "${word}".`, {
    hint: "List all groups: redrive groups list --state all",
  });
}

/** Follows the merges from a signature to the current one. Pure. */
export function mergedInto(signature: string, corrections: readonly Correction[]): string {
  const seen = new Set([signature]);
  let at = signature;
  for (;;) {
    const merge = corrections.find(({ from, text }) => from === at && text === undefined);
    if (merge === undefined || seen.has(merge.to)) return at;
    at = merge.to;
    seen.add(at);
  }
}

/** A full signature takes precedence over a name, and a name over signatures that start with the word. */
async function fittingGroups(engine: Engine, word: string): Promise<readonly GroupRecord[]> {
  if (word.trim() === "") return [];
  const exact = await engine.readGroup(word);
  if (exact !== null) return [exact];
  const found = await engine.listGroupRecords({ prefix: word });
  const named = found.filter(({ pattern }) => pattern === word);
  return named.length > 0 ? named : found.filter(({ signature }) => signature.startsWith(word));
}

export interface KnownFix {
  readonly fix: GroupFix;
  /** The edit that preceded the redrive, if it is still stored. */
  readonly edit?: Operation;
}

export async function readFixes(engine: Engine, fixes: readonly GroupFix[]): Promise<readonly KnownFix[]> {
  const known: KnownFix[] = [];
  for (const fix of fixes) {
    const edit = fix.editId === undefined ? null : await engine.findOperation(fix.editId);
    known.push(edit === null ? { fix } : { fix, edit });
  }
  return known;
}

/** Returns the fix that resolved the most letters; if several did, the newest. */
export function bestFix<Fix extends Pick<GroupFix, "count">>(fixes: readonly Fix[]): Fix | undefined {
  return fixes.reduce<Fix | undefined>(
    (best, fix) => (best === undefined || fix.count > best.count ? fix : best),
    undefined,
  );
}
