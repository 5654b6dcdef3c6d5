/**
 * How the mark of a group changes: by a burial, by the success of its last letter, by a person's word. Pure, and the same
 * in every engine, as are the events that tell of it.
 */
import { assert } from "../kit/assert.ts";
import type { JsonObject } from "../kit/json.ts";
import type { EventDraft } from "./event.ts";
import { compact } from "./failure.ts";
import { type GroupChange, type GroupMark, type IgnoreUntil, ignoreToJson } from "./group.ts";

/** Why a burial opened a group that was resolved or ignored. */
export type ReopenReason = "regression" | "time" | "count" | "rate";

/** The part of a mark that changes by itself, with what is counted while the group is ignored. */
export interface GroupLife extends Pick<GroupMark, "state" | "since" | "regressions" | "isRegression"> {
  readonly author?: string;
  readonly ignoreUntil?: IgnoreUntil;
  /** Burials since it was ignored; 0 in every other state. */
  readonly newLetters: number;
  /** Of those, how many in each minute of the last hour; kept only when a rate ends it. */
  readonly recent: readonly MinuteCount[];
}

/** A minute, counted from the epoch, and the burials in it. */
export type MinuteCount = readonly [minute: number, count: number];

/** A group that nobody has seen before. */
export function newLife(at: number): GroupLife {
  return { state: "open", since: at, regressions: 0, isRegression: false, newLetters: 0, recent: [] };
}

/** A letter was buried in the group. Nothing is changed, and the very same life comes back, when it is open. */
export function afterBurial(
  life: GroupLife,
  at: number,
): { readonly life: GroupLife; readonly why?: ReopenReason } {
  if (life.state === "open") return { life };
  if (life.state === "resolved") return { life: cameBack(life, at), why: "regression" };
  const counted = countNew(life, at);
  const why = whyNow(counted, at);
  return why === undefined ? { life: counted } : { life: { ...settled(life, at), state: "open" }, why };
}

function cameBack(life: GroupLife, at: number): GroupLife {
  return { ...settled(life, at), state: "open", regressions: life.regressions + 1, isRegression: true };
}

/** With a new state from now on: what belonged to the old one is gone. */
function settled({ state, regressions }: GroupLife, at: number): GroupLife {
  return { state, since: at, regressions, isRegression: false, newLetters: 0, recent: [] };
}

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;

/** By the minute: an hour is this minute and the 59 before it. */
function countNew(life: GroupLife, at: number): GroupLife {
  const newLetters = life.newLetters + 1;
  if (life.ignoreUntil?.perHour === undefined) return { ...life, newLetters };
  const now = Math.floor(at / MINUTE_MS);
  const counts = new Map(life.recent.filter(([minute]) => minute > now - HOUR_MINUTES));
  counts.set(now, (counts.get(now) ?? 0) + 1);
  return { ...life, newLetters, recent: [...counts] };
}

function whyNow({ ignoreUntil = {}, newLetters, recent }: GroupLife, at: number): ReopenReason | undefined {
  const { at: end, count, perHour } = ignoreUntil;
  if (end !== undefined && at >= end) return "time";
  if (count !== undefined && newLetters >= count) return "count";
  const withinHour = recent.reduce((sum, [, each]) => sum + each, 0);
  return perHour !== undefined && withinHour > perHour ? "rate" : undefined;
}

/** A redriven letter succeeded, and none of its signature waits any more. Only an open group is resolved by itself. */
export function afterLastSuccess(life: GroupLife, at: number): GroupLife {
  return life.state === "open" ? { ...settled(life, at), state: "resolved" } : life;
}

/** A person gave it a state, which counts from now also when it is the one that it had; or only wrote a note. */
export function afterChange(
  life: GroupLife,
  { state, author, ignoreUntil }: GroupChange,
  at: number,
): GroupLife {
  assert(ignoreUntil === undefined || state === "ignored", `a group that is ${state} has no end of that`);
  if (state === undefined) return life;
  const until = compact({ ...ignoreUntil });
  const hasEnd = Object.keys(until).length > 0;
  return { ...settled(life, at), state, author, ...(hasEnd && { ignoreUntil: until }) };
}

/** The store sees the signature for the first time. */
export function openedEvent(group: Pick<GroupMark, "signature" | "pattern">): EventDraft {
  return { type: "group_opened", data: { signature: group.signature, pattern: group.pattern } };
}

/** A burial opened it again. */
export function reopenedEvent(signature: string, why: ReopenReason): EventDraft {
  return { type: "group_reopened", data: { signature, why } };
}

/** Its last letter succeeded. */
export function resolvedEvent(signature: string): EventDraft {
  return { type: "group_resolved", data: { signature } };
}

/** A person decided something. */
export function changedEvent(
  signature: string,
  { author, state, ignoreUntil, note }: GroupChange,
): EventDraft {
  const until = ignoreUntil && ignoreToJson(ignoreUntil);
  const data = compact({ signature, author, state, ignore_until: until, note });
  return { type: "group_changed", data: data as JsonObject };
}
