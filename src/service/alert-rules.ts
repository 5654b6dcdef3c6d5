/** Evaluates the alert rules. Only reads the store; sends nothing. */
import type { Engine } from "../engine.ts";
import type { LetterGroup } from "../item/letter-query.ts";
import { formatDuration } from "../std/duration.ts";
import { titleLine } from "../triage/title.ts";
import type { AlertRule, Condition } from "./alert-settings.ts";
import type { AlertFinding, AlertState } from "./alert-state.ts";
import { type Metrics, type QueueMetrics, readMetrics } from "./metrics.ts";

export interface Sight {
  readonly at: number;
  readonly findings: readonly AlertFinding[];
  readonly eventsSeen: number;
  readonly writeFailures: number;
}

export async function findWrong(
  engine: Engine,
  rules: readonly AlertRule[],
  state: AlertState,
): Promise<Sight> {
  const metrics = await readMetrics(engine);
  const { eventsSeen, groups } = await newGroups(engine, rules, state);
  const seen: Seen = { engine, metrics, state, groups };
  const findings: AlertFinding[] = [];
  for (const rule of rules) findings.push(...(await findingsOf(rule, seen)));
  return { at: metrics.at, findings, eventsSeen, writeFailures: metrics.storeWriteFailures };
}

export function findTrouble(rules: readonly AlertRule[], message: string): readonly AlertFinding[] {
  return rules
    .filter(({ condition }) => condition.kind === "store_unhealthy")
    .map((rule) => storeFinding(rule, message, 1));
}

interface Seen {
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly state: AlertState;
  /** Open groups that are new, or that earlier checks reported as new. */
  readonly groups: readonly LetterGroup[];
}

async function findingsOf(rule: AlertRule, seen: Seen): Promise<readonly AlertFinding[]> {
  const queues = seen.metrics.queues.filter(({ queue, name }) => matchesQueue(rule.queues, [queue, name]));
  const { condition } = rule;
  switch (condition.kind) {
    case "depth":
      return queues.flatMap((queue) => ofDepth(rule, condition.letters, queue));
    case "oldest":
      return queues.flatMap((queue) => ofAge(rule, condition.ageMs, queue));
    case "arrival_rate":
      return ofArrivals(rule, condition, { queues, seen });
    case "new_group":
      return ofGroups(rule, queues, seen.groups);
    case "breaker_open":
      return queues.flatMap((queue) => ofBreaker(rule, queue));
    case "store_unhealthy":
      return ofStore(rule, seen);
  }
}

function ofDepth(rule: AlertRule, limit: number, { queue, name, counts }: QueueMetrics) {
  if (counts.letters < limit) return [];
  const overText = limit === 1 ? `${name}: no failed items are left` : `${name}: fewer than ${limit} failed`;
  return [
    found(rule, queue, { value: counts.letters, limit, text: `${name}: ${counts.letters} failed`, overText }),
  ];
}

function ofAge(rule: AlertRule, limitMs: number, { queue, name, oldestLetterMs }: QueueMetrics) {
  if (oldestLetterMs === null || oldestLetterMs < limitMs) return [];
  const text = `${name}: the oldest letter has waited for ${formatDuration(oldestLetterMs)}`;
  const overText = `${name}: no letter has waited for ${formatDuration(limitMs)}`;
  return [found(rule, queue, { value: oldestLetterMs / 1000, limit: limitMs / 1000, text, overText })];
}

const MINUTE_MS = 60_000;

async function ofArrivals(
  rule: AlertRule,
  { letters: limit, withinMs }: Extract<Condition, { kind: "arrival_rate" }>,
  { queues, seen }: { queues: readonly QueueMetrics[]; seen: Seen },
): Promise<readonly AlertFinding[]> {
  const { engine, metrics } = seen;
  const findings: AlertFinding[] = [];
  const time = formatDuration(withinMs);
  for (const { queue, name, counts } of queues) {
    if (counts.letters + counts.resolved + counts.discarded + counts.purged + counts.evicted === 0) continue;
    // Counts the current minute and the full minutes before it, never more than the given time.
    const since = Math.floor(metrics.at / MINUTE_MS) * MINUTE_MS - withinMs + MINUTE_MS;
    const arrivals = await engine.listArrivals({ queue, bucketMs: MINUTE_MS, since });
    const value = arrivals.reduce((sum, { ever }) => sum + ever, 0);
    if (value < limit) continue;
    const overText = `${name}: fewer than ${limit} letters were written within ${time}`;
    findings.push(
      found(rule, queue, {
        value,
        limit,
        text: `${name}: ${value} letters were written within ${time}`,
        overText,
      }),
    );
  }
  return findings;
}

function ofGroups(rule: AlertRule, queues: readonly QueueMetrics[], groups: readonly LetterGroup[]) {
  const names = new Map(queues.map(({ queue, name }) => [queue, name]));
  return groups.flatMap(({ queue, signature, pattern, count, isRegression }) => {
    const name = names.get(queue);
    if (name === undefined) return [];
    const title = titleLine(pattern);
    const text = `${name}: ${isRegression ? "a failure has returned" : "a new failure"}: ${title}`;
    const finding = found(rule, queue, {
      value: count,
      limit: 1,
      text,
      overText: `${name}: no longer open: ${title}`,
    });
    return [{ ...finding, key: JSON.stringify([rule.name, queue, signature]) }];
  });
}

/** A half-open breaker still raises the alert, because it is not closed yet. */
function ofBreaker(rule: AlertRule, { queue, name, breaker }: QueueMetrics) {
  if (breaker === null || breaker === "closed") return [];
  const text = `${name}: the breaker is ${breaker === "open" ? "open" : "half open"}`;
  return [found(rule, queue, { value: 1, limit: 1, text, overText: `${name}: the breaker is closed` })];
}

const UNHEALTHY_MS = 600_000;

function ofStore(rule: AlertRule, { metrics, state }: Seen): readonly AlertFinding[] {
  const before = state.writeFailures ?? metrics.storeWriteFailures;
  const rose = metrics.storeWriteFailures - before;
  if (rose > 0) {
    const count = rose === 1 ? "once" : `${rose} times`;
    return [storeFinding(rule, `a write failed ${count} since the last check`, rose)];
  }
  if (metrics.at - state.writeFailuresRoseAt >= UNHEALTHY_MS) return [];
  return [storeFinding(rule, "a recent write failed", 1)];
}

function storeFinding(rule: AlertRule, message: string, value: number): AlertFinding {
  const text = `The store is unhealthy: ${message}`;
  return found(rule, null, { value, limit: 1, text, overText: "The store is healthy" });
}

function found(
  { name, condition, severity }: AlertRule,
  queue: string | null,
  finding: Pick<AlertFinding, "value" | "limit" | "text" | "overText">,
): AlertFinding {
  const key = JSON.stringify([name, queue]);
  return { key, rule: name, kind: condition.kind, queue, severity, ...finding };
}

const PAGE_MAX = 1000;

/** Returns open groups that are new since the last check, or that earlier checks reported as new. */
async function newGroups(engine: Engine, rules: readonly AlertRule[], state: AlertState) {
  const newest = await engine.newestEvent();
  if (!rules.some(({ condition }) => condition.kind === "new_group"))
    return { eventsSeen: newest, groups: [] };
  const signatures = new Set(sentAsNew(state));
  let after = state.eventsSeen ?? newest;
  for (;;) {
    const types = ["group_opened", "group_reopened"] as const;
    const page = await engine.listEvents({ types, after, limit: PAGE_MAX });
    for (const { data } of page) if (typeof data?.signature === "string") signatures.add(data.signature);
    after = page.at(-1)?.id ?? after;
    if (page.length < PAGE_MAX) break;
  }
  const open = signatures.size === 0 ? [] : await engine.listGroups({ states: ["open"] });
  const groups = open.filter((group) => signatures.has(group.signature));
  return { eventsSeen: Math.max(newest, after), groups };
}

function sentAsNew({ alerts }: AlertState): readonly string[] {
  return Object.values(alerts)
    .filter(({ kind, recoveredAt }) => kind === "new_group" && recoveredAt === undefined)
    .map(({ key }) => (JSON.parse(key) as readonly string[])[2] ?? "");
}

/**
 * Whether one of the names matches. If there are no patterns, or only excluding ones, every queue that is not
 * excluded matches.
 */
export function matchesQueue(patterns: readonly string[], names: readonly string[]): boolean {
  const wanted = patterns.filter((pattern) => !pattern.startsWith("!"));
  const unwanted = patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const fits = (pattern: string) => names.some((name) => fitsName(pattern, name));
  return (wanted.length === 0 || wanted.some(fits)) && !unwanted.some(fits);
}

/** Searches each part between two stars after the previous one, without backtracking, so that matching stays fast. */
function fitsName(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
