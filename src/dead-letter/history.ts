/**
 * Builds a letter's history in order: its attempts, and the changes by people and rules between them. Reads
 * only.
 */
import {
  ATTEMPT_TIMES_MAX,
  attemptTimes,
  type Engine,
  type LetterRecords,
  type StoredLetter,
} from "../engine.ts";
import type { Event } from "../item/event.ts";
import type { GroupRecord } from "../item/group.ts";
import type { Attempt, Item } from "../item/item.ts";
import type { Amendment, LateResult, Letter, LetterNote, Resolution } from "../item/letter.ts";
import type { Operation } from "../item/operation.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";

export type Moment = { readonly at: number } & (
  | { readonly kind: "attempt"; readonly attempt: Attempt }
  | { readonly kind: "redrive"; readonly operation?: Operation }
  | { readonly kind: "amendment"; readonly amendment: Amendment; readonly after: Json }
  | { readonly kind: "note"; readonly note: LetterNote }
  | { readonly kind: "late"; readonly result: LateResult }
  | { readonly kind: "discard" | "restore"; readonly operation: Operation }
  | { readonly kind: "resolved"; readonly resolution: Resolution }
);

export interface LetterHistory {
  readonly moments: readonly Moment[];
  readonly events: readonly Event[];
  /** How many letters of the job are in the same group, including this one. */
  readonly groupCount: number;
  readonly group: GroupRecord | null;
}

const EVENTS_MAX = 10;

export async function readHistory(engine: Engine, records: LetterRecords): Promise<LetterHistory> {
  const { letter, attempts, operations, groupCount, group } = records;
  const decisions = await decisionsOf(engine, letter, operations);
  const kept = keptMoments(letter);
  const known = [
    ...attempts.map(attemptMoment),
    ...decisions,
    ...kept.filter((moment) => moment.kind !== "resolved" || decisions.every(isOther(moment))),
  ];
  // Not the times of the decisions: an operation may write its events milliseconds later.
  const times = [
    ...attempts.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt ?? startedAt]),
    ...kept.map(({ at }) => at),
  ];
  const events = await eventsOf(engine, records, times);
  const redrives = redrivesOf(attempts, { operations, buriedAt: burialTimes(events) });
  return {
    moments: [...redrives, ...known].sort((a, b) => a.at - b.at),
    events: events.slice(-EVENTS_MAX),
    groupCount,
    group,
  };
}

/** Returns the history that the letter itself contains: its failed attempts and changes. Reads no store. */
export function momentsOf(letter: Letter): readonly Moment[] {
  const attempts = letter.failureHistory.map((failure) =>
    attemptMoment({
      number: failure.attemptNumber,
      outcome: "failed",
      holder: failure.agentId,
      startedAt: failure.timestamp - failure.durationMs,
      endedAt: failure.timestamp,
      failure,
    }),
  );
  return [...attempts, ...keptMoments(letter)].sort((a, b) => a.at - b.at);
}

function attemptMoment(attempt: Attempt): Moment {
  return { kind: "attempt", at: attempt.startedAt, attempt };
}

function keptMoments(letter: Letter): readonly Moment[] {
  const { notes = [], lateResults = [], resolution } = letter;
  return [
    ...amendmentsOf(letter),
    ...notes.map((note): Moment => ({ kind: "note", at: note.at, note })),
    ...lateResults.map((late): Moment => ({ kind: "late", at: late.at, result: late })),
    ...(resolution ? [{ kind: "resolved", at: resolution.at, resolution } as const] : []),
  ];
}

/** An amendment stores only the data before it; the data after it comes from the next amendment or the letter. */
function amendmentsOf({ amendments = [], itemData }: Letter): readonly Moment[] {
  return amendments.map((amendment, index) => {
    const next = amendments[index + 1];
    return { kind: "amendment", at: amendment.at, amendment, after: next ? next.before : itemData };
  });
}

function burialTimes(events: readonly Event[]): ReadonlySet<number> {
  const burials = events.filter(({ type, attempt }) => type === "dlq_item_added" && attempt !== undefined);
  return new Set(burials.map(({ at }) => at));
}

/**
 * An attempt after the letter was buried belongs to a redrive. Its operation is identified only if there is a
 * single candidate.
 */
function redrivesOf(
  attempts: readonly Attempt[],
  { operations, buriedAt }: { operations: readonly Operation[]; buriedAt: ReadonlySet<number> },
): readonly Moment[] {
  return attempts.flatMap((attempt, index): Moment[] => {
    const before = attempts[index - 1]?.endedAt;
    if (before === undefined || !buriedAt.has(before)) return [];
    const possible = operations.filter(
      ({ kind, createdAt, done }) =>
        kind === "redrive" && done > 0 && createdAt >= before && createdAt <= attempt.startedAt,
    );
    const [only, ...others] = possible;
    if (only === undefined || others.length > 0) return [{ kind: "redrive", at: attempt.startedAt }];
    return [{ kind: "redrive", at: only.createdAt, operation: only }];
  });
}

/** How many of the newest discard and restore operations are searched for the letter. */
const DECISIONS_MAX = 50;

async function decisionsOf(engine: Engine, letter: StoredLetter, operations: readonly Operation[]) {
  const moments = operations.flatMap((operation): Extract<Moment, { kind: "discard" | "restore" }>[] => {
    const { kind, createdAt: at } = operation;
    return kind === "discard" || kind === "restore" ? [{ kind, at, operation }] : [];
  });
  const own: Moment[] = [];
  for (const moment of moments.slice(-DECISIONS_MAX))
    if (await didWork(engine, letter, moment.operation)) own.push(moment);
  return own;
}

/** How many selected letters are searched when the operation is older than the letter's current sequence number. */
const SELECTED_READ_MAX = 2000;

/** Whether the operation processed the letter. An older operation has another sequence number for the same item. */
async function didWork(engine: Engine, { letterSequence, ref }: StoredLetter, { id, bound }: Operation) {
  const page =
    bound >= letterSequence ? { after: letterSequence - 1, limit: 1 } : { limit: SELECTED_READ_MAX };
  const selected = await engine.listSelected(id, { status: "done", ...page });
  return selected.some((one) => one.ref === ref);
}

/**
 * Whether a history entry is not the discard that made this resolution. Ensures that the history shows a
 * discard only once.
 */
function isOther(entry: Moment): (moment: Moment) => boolean {
  const id = entry.kind === "resolved" ? entry.resolution.operationId : undefined;
  return (moment) => id === undefined || moment.kind !== "discard" || moment.operation.id !== id;
}

/**
 * The records contain the events of attempts. Events of notes, edits and decisions are read only if there are
 * any.
 */
async function eventsOf(
  engine: Engine,
  { letter, attempts, events }: LetterRecords,
  times: readonly number[],
) {
  const known = new Set(attemptTimes(attempts));
  return times.every((at) => known.has(at)) ? events : eventsAt(engine, letter, times);
}

const MOMENTS_MAX = ATTEMPT_TIMES_MAX;

/** Returns the item's events at the newest of these times. */
export function eventsAt(
  engine: Engine,
  { queue, itemId }: { queue: string; itemId: string },
  moments: readonly number[],
): Promise<readonly Event[]> {
  const times = [...new Set(moments)].sort((a, b) => a - b).slice(-MOMENTS_MAX);
  return engine.listItemEvents({ queue, itemId, times });
}

export type LetterLinks = Pick<Item, "requeuedFrom" | "requeuedAs">;

export function linksToJson({ requeuedFrom, requeuedAs }: LetterLinks): JsonObject {
  return compact({ requeued_from: requeuedFrom, requeued_as: requeuedAs }) as JsonObject;
}
