/** Groups of letters with the same signature in all queues: state changes of a group, and corrections that move letters. */
import { assert } from "../std/assert.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import type { EventDraft } from "./event.ts";
import type { LetterNote, ResolutionKind } from "./letter.ts";

/** The states of a group. `resolved`: its redriven letters succeeded, or a person resolved it; a new failure reopens it. */
export const GROUP_STATES = ["open", "resolved", "ignored"] as const;
/** One of `GROUP_STATES`. */
export type GroupState = (typeof GROUP_STATES)[number];

/**
 * The conditions that end ignoring a group. The first one that is met reopens it; if there are none, only a
 * person does.
 */
export interface IgnoreUntil {
  /** A point in time by the store's clock. */
  readonly at?: number;
  /** The number of new letters since the group was ignored. Every burial counts. */
  readonly count?: number;
  /** A number of new letters per hour that must be exceeded; counted by the minute. */
  readonly perHour?: number;
}

/** A fix after which letters of the group succeeded. */
export interface GroupFix {
  /** When a letter last succeeded after this fix. */
  readonly at: number;
  readonly kind: ResolutionKind;
  /** How many letters succeeded. */
  readonly count: number;
  readonly operationId?: string;
  /** The edit operation of the letter that succeeded last; the operation's plan contains the change. */
  readonly editId?: string;
  /** The automatic rule that made the edit. */
  readonly rule?: string;
  readonly author?: string;
  /** The shortest time from a letter's latest burial to its success. */
  readonly waitedMs: number;
}

/** The record of a signature. It remains after the letters are deleted. */
export interface GroupRecord {
  readonly signature: string;
  readonly pattern: string;
  readonly state: GroupState;
  /** When the group entered this state. */
  readonly since: number;
  readonly author?: string;
  readonly ignoreUntil?: IgnoreUntil;
  /** How often a failure reopened the group after it was resolved. */
  readonly regressions: number;
  /** Whether the group is open because of a regression. */
  readonly isRegression: boolean;
  readonly notes: readonly LetterNote[];
  /** The most recent fixes, newest first; at most 10. */
  readonly fixes: readonly GroupFix[];
}

export interface GroupChange {
  readonly author: string;
  readonly state?: GroupState;
  /** Allowed only with the state `ignored`. */
  readonly ignoreUntil?: IgnoreUntil;
  readonly note?: string;
}

/**
 * Moves existing and later letters to another group: all letters of a signature (merge), or only those with a
 * text (split).
 */
export interface Correction {
  readonly from: string;
  /** A substring of the message, matched case-insensitively. If it is absent, all letters match. */
  readonly text?: string;
  readonly to: string;
  readonly pattern: string;
  readonly author: string;
  readonly at: number;
}

/** Converts a group record to its public JSON form. */
export function groupRecordToJson(record: GroupRecord): JsonObject {
  return compact({
    state: record.state,
    since: toRfc3339(record.since),
    author: record.author,
    ignore_until: record.ignoreUntil && ignoreToJson(record.ignoreUntil),
    regressions: record.regressions,
    is_regression: record.isRegression,
    notes: record.notes.map((note) => ({ ...note, at: toRfc3339(note.at) })),
    fixes: record.fixes.map(fixToJson),
  });
}

export function ignoreToJson({ at, count, perHour }: IgnoreUntil): JsonObject {
  return compact({ at: at === undefined ? undefined : toRfc3339(at), count, per_hour: perHour });
}

function fixToJson(fix: GroupFix): JsonObject {
  return compact({
    at: toRfc3339(fix.at),
    kind: fix.kind,
    count: fix.count,
    operation_id: fix.operationId,
    edit_id: fix.editId,
    rule: fix.rule,
    author: fix.author,
    waited_ms: fix.waitedMs,
  });
}

export type ReopenReason = "regression" | "time" | "count" | "rate";

/** The part of a group record that changes automatically, with the counts of an ignored group. */
export interface GroupLife extends Pick<GroupRecord, "state" | "since" | "regressions" | "isRegression"> {
  readonly author?: string;
  readonly ignoreUntil?: IgnoreUntil;
  /** The number of burials since the group was ignored; 0 in other states. */
  readonly newLetters: number;
  /** The burials per minute in the last hour; counted only if `perHour` is set. */
  readonly recent: readonly MinuteCount[];
}

/** A minute since the epoch, and the number of burials in it. */
export type MinuteCount = readonly [minute: number, count: number];

export function newLife(at: number): GroupLife {
  return { state: "open", since: at, regressions: 0, isRegression: false, newLetters: 0, recent: [] };
}

/** Applies the burial of a letter. An open group is returned unchanged (the same object). */
export function afterBurial(
  life: GroupLife,
  at: number,
): { readonly life: GroupLife; readonly why?: ReopenReason } {
  if (life.state === "open") return { life };
  if (life.state === "resolved") return { life: regressed(life, at), why: "regression" };
  const counted = countNew(life, at);
  const why = reopenReason(counted, at);
  return why === undefined ? { life: counted } : { life: { ...reset(life, at), state: "open" }, why };
}

function regressed(life: GroupLife, at: number): GroupLife {
  return { ...reset(life, at), state: "open", regressions: life.regressions + 1, isRegression: true };
}

/** Starts a new period and drops the counts of the old one. */
function reset({ state, regressions }: GroupLife, at: number): GroupLife {
  return { state, since: at, regressions, isRegression: false, newLetters: 0, recent: [] };
}

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;

/** Counts one burial. An hour is the current minute and the 59 before it. */
function countNew(life: GroupLife, at: number): GroupLife {
  const newLetters = life.newLetters + 1;
  if (life.ignoreUntil?.perHour === undefined) return { ...life, newLetters };
  const now = Math.floor(at / MINUTE_MS);
  const counts = new Map(life.recent.filter(([minute]) => minute > now - HOUR_MINUTES));
  counts.set(now, (counts.get(now) ?? 0) + 1);
  return { ...life, newLetters, recent: [...counts] };
}

function reopenReason(
  { ignoreUntil = {}, newLetters, recent }: GroupLife,
  at: number,
): ReopenReason | undefined {
  const { at: end, count, perHour } = ignoreUntil;
  if (end !== undefined && at >= end) return "time";
  if (count !== undefined && newLetters >= count) return "count";
  const withinHour = recent.reduce((sum, [, each]) => sum + each, 0);
  return perHour !== undefined && withinHour > perHour ? "rate" : undefined;
}

/** Applies the success of the last waiting letter. Only an open group is resolved automatically. */
export function afterLastSuccess(life: GroupLife, at: number): GroupLife {
  return life.state === "open" ? { ...reset(life, at), state: "resolved" } : life;
}

/** Applies a person's change. A given state starts now, even if it is the current one. */
export function afterChange(
  life: GroupLife,
  { state, author, ignoreUntil }: GroupChange,
  at: number,
): GroupLife {
  assert(
    ignoreUntil === undefined || state === "ignored",
    `only an ignored group has an end, not one that is ${state}`,
  );
  if (state === undefined) return life;
  const until = compact({ ...ignoreUntil });
  const hasEnd = Object.keys(until).length > 0;
  return { ...reset(life, at), state, author, ...(hasEnd && { ignoreUntil: until }) };
}

export function openedEvent(group: Pick<GroupRecord, "signature" | "pattern">): EventDraft {
  return { type: "group_opened", data: { signature: group.signature, pattern: group.pattern } };
}

export function reopenedEvent(signature: string, why: ReopenReason): EventDraft {
  return { type: "group_reopened", data: { signature, why } };
}

export function resolvedEvent(signature: string): EventDraft {
  return { type: "group_resolved", data: { signature } };
}

export function changedEvent(
  signature: string,
  { author, state, ignoreUntil, note }: GroupChange,
): EventDraft {
  const until = ignoreUntil && ignoreToJson(ignoreUntil);
  const data = compact({ signature, author, state, ignore_until: until, note });
  return { type: "group_changed", data: data as JsonObject };
}

export interface Grouping {
  readonly signature: string;
  readonly pattern: string;
}

export type CorrectionRule = Pick<Correction, "from" | "text" | "to" | "pattern">;

/** Applies all corrections to a group. Splits precede merges; corrections chain, and no group is visited twice. */
export function corrected<Group extends Grouping>(
  group: Group,
  message: string,
  corrections: readonly CorrectionRule[],
): Group {
  const seen = new Set([group.signature]);
  let current = group;
  for (;;) {
    const next = ruleFor(current.signature, message, corrections);
    if (next === undefined || seen.has(next.to)) return current;
    seen.add(next.to);
    current = { ...current, signature: next.to, pattern: next.pattern };
  }
}

function ruleFor(
  signature: string,
  message: string,
  corrections: readonly CorrectionRule[],
): CorrectionRule | undefined {
  const own = corrections.filter(({ from }) => from === signature);
  if (own.length === 0) return undefined;
  const lower = message.toLowerCase();
  const split = own.find(({ text }) => text !== undefined && lower.includes(text.toLowerCase()));
  return split ?? own.find(({ text }) => text === undefined);
}
