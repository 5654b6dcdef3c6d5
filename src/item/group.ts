/**
 * A group of letters and its life. The letters of one signature are one group, over all queues; what people decided
 * about it, and what helped before, stays with the signature when its letters are gone.
 */
import { toRfc3339 } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import { compact } from "./failure.ts";
import type { LetterNote, ResolutionKind } from "./letter.ts";

/** `resolved` means that its redriven letters succeeded, or that a person said so; a new failure reopens it. */
export const GROUP_STATES = ["open", "resolved", "ignored"] as const;
/** One of `GROUP_STATES`. */
export type GroupState = (typeof GROUP_STATES)[number];

/** Until when a group is ignored: whichever comes first. None of them: until a person opens it. */
export interface IgnoreUntil {
  /** A time by the store's clock. */
  readonly at?: number;
  /** So many new letters since it was ignored: the one that makes it so many opens it. Each burial is one. */
  readonly count?: number;
  /** More than so many new letters within one hour, which is counted by the minute. */
  readonly perHour?: number;
}

/** What helped once: the letters of the group succeeded after this. */
export interface GroupFix {
  /** When it helped last. */
  readonly at: number;
  readonly kind: ResolutionKind;
  /** How many letters succeeded so. */
  readonly count: number;
  /** The redrive that sent them. */
  readonly operationId?: string;
  /** The edit before it, of the letter that succeeded last: its plan says what was changed. */
  readonly editId?: string;
  /** The automatic rule that made the edit. */
  readonly rule?: string;
  readonly author?: string;
  /** How long after its latest burial a letter succeeded, the shortest time of all: what waiting did. */
  readonly waitedMs: number;
}

/** What is known of a signature beyond its letters. */
export interface GroupMark {
  readonly signature: string;
  readonly pattern: string;
  readonly state: GroupState;
  /** When it got this state. */
  readonly since: number;
  readonly author?: string;
  readonly ignoreUntil?: IgnoreUntil;
  /** How often it came back after it was resolved. */
  readonly regressions: number;
  /** Set while it is open because it came back. */
  readonly isRegression: boolean;
  readonly notes: readonly LetterNote[];
  /** Newest first, at most 10. */
  readonly fixes: readonly GroupFix[];
}

/** What a person decides. */
export interface GroupChange {
  readonly author: string;
  readonly state?: GroupState;
  /** With the state `ignored`. */
  readonly ignoreUntil?: IgnoreUntil;
  readonly note?: string;
}

/**
 * A person's word that letters belong elsewhere: all of one signature (a merge), or those whose last message has a
 * text (a split). It holds for the letters that are there and for later ones, until it is taken back.
 */
export interface Correction {
  readonly from: string;
  /** In any case of letters. Absent: all. */
  readonly text?: string;
  readonly to: string;
  /** The pattern of the group that they go to. */
  readonly pattern: string;
  readonly author: string;
  readonly at: number;
}

/** The form of a mark outside the process. */
export function groupMarkToJson(mark: GroupMark): JsonObject {
  return compact({
    state: mark.state,
    since: toRfc3339(mark.since),
    author: mark.author,
    ignore_until: mark.ignoreUntil && ignoreToJson(mark.ignoreUntil),
    regressions: mark.regressions,
    is_regression: mark.isRegression,
    notes: mark.notes.map((note) => ({ ...note, at: toRfc3339(note.at) })),
    fixes: mark.fixes.map(fixToJson),
  });
}

/** The form of an end of being ignored, outside the process. */
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
