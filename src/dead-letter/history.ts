/** A letter's whole life in order: its attempts, and what people and rules did between them. Reads, never writes. */
import type { Engine, StoredLetter } from "../engine.ts";
import type { Event } from "../item/event.ts";
import type { GroupMark } from "../item/group.ts";
import type { Attempt } from "../item/item.ts";
import type { Amendment, Evidence, Letter, LetterNote, Resolution } from "../item/letter.ts";
import type { Operation } from "../item/operation.ts";
import type { Json } from "../kit/json.ts";
import { eventsAt } from "./item-events.ts";

/** One thing in a letter's life. */
export type Moment = { readonly at: number } & (
  | { readonly kind: "attempt"; readonly attempt: Attempt }
  | { readonly kind: "redrive"; readonly operation?: Operation }
  | { readonly kind: "amendment"; readonly amendment: Amendment; readonly after: Json }
  | { readonly kind: "note"; readonly note: LetterNote }
  | { readonly kind: "late"; readonly evidence: Evidence }
  | { readonly kind: "discard" | "restore"; readonly operation: Operation }
  | { readonly kind: "resolved"; readonly resolution: Resolution }
);

export interface LetterHistory {
  /** Oldest first. */
  readonly moments: readonly Moment[];
  /** The latest few events of the item, oldest first. */
  readonly events: readonly Event[];
  /** How many letters of the job died of the same failure, this one included. */
  readonly groupCount: number;
  /** What is known of its group. */
  readonly group: GroupMark | null;
}

const EVENTS_MAX = 10;

/** Everything that is known besides the letter itself. */
export async function readHistory(engine: Engine, letter: StoredLetter): Promise<LetterHistory> {
  const attempts = await engine.listAttempts(letter.ref);
  const operations = await engine.listOperations({ queue: letter.queue });
  const decisions = await decisionsOf(engine, letter, operations);
  const kept = keptMoments(letter).filter(
    (moment) => moment.kind !== "resolved" || decisions.every(isOther(moment)),
  );
  const told = [...attempts.map(attemptMoment), ...decisions, ...kept];
  const times = [...told.map(({ at }) => at), ...attempts.flatMap(({ endedAt }) => endedAt ?? [])];
  const events = await eventsAt(engine, letter, times);
  const redrives = redrivesOf(attempts, { operations, burials: burialsIn(events) });
  const groups = await engine.listGroups({ queue: letter.queue });
  return {
    moments: [...redrives, ...told].sort((a, b) => a.at - b.at),
    events: events.slice(-EVENTS_MAX),
    groupCount: groups.find(({ signature }) => signature === letter.errorSignature)?.count ?? 0,
    group: await engine.readGroup(letter.errorSignature),
  };
}

/** What the letter itself tells, without a store: the failed attempts, and what was done to it. */
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
  const { notes = [], evidence = [], resolution } = letter;
  return [
    ...amendmentsOf(letter),
    ...notes.map((note): Moment => ({ kind: "note", at: note.at, note })),
    ...evidence.map((late): Moment => ({ kind: "late", at: late.at, evidence: late })),
    ...(resolution ? [{ kind: "resolved", at: resolution.at, resolution } as const] : []),
  ];
}

/** What each amendment led to is what the next one found, or what is there now. */
function amendmentsOf({ amendments = [], itemData }: Letter): readonly Moment[] {
  return amendments.map((amendment, index) => {
    const next = amendments[index + 1];
    return { kind: "amendment", at: amendment.at, amendment, after: next ? next.before : itemData };
  });
}

/** When a failed attempt made a letter of it. */
function burialsIn(events: readonly Event[]): ReadonlySet<number> {
  const burials = events.filter(({ type, attempt }) => type === "dlq_item_added" && attempt !== undefined);
  return new Set(burials.map(({ at }) => at));
}

/**
 * An attempt that follows a burial was made by a redrive. Which one it was is known when only one can have been it; the
 * store does not keep a letter's older burials apart.
 */
function redrivesOf(
  attempts: readonly Attempt[],
  { operations, burials }: { operations: readonly Operation[]; burials: ReadonlySet<number> },
): readonly Moment[] {
  return attempts.flatMap((attempt, index): Moment[] => {
    const before = attempts[index - 1]?.endedAt;
    if (before === undefined || !burials.has(before)) return [];
    const possible = operations.filter(
      ({ kind, createdAt, done }) =>
        kind === "redrive" && done > 0 && createdAt >= before && createdAt <= attempt.startedAt,
    );
    const [only, ...others] = possible;
    if (only === undefined || others.length > 0) return [{ kind: "redrive", at: attempt.startedAt }];
    return [{ kind: "redrive", at: only.createdAt, operation: only }];
  });
}

const DECISIONS = ["discard", "restore"] as const;
/** Of the latest so many operations it is asked whether they were about the letter. */
const DECISIONS_MAX = 50;

async function decisionsOf(
  engine: Engine,
  letter: StoredLetter,
  operations: readonly Operation[],
): Promise<readonly Moment[]> {
  const moments: Moment[] = [];
  for (const operation of operations.filter((one) => kindOf(one) !== undefined).slice(-DECISIONS_MAX)) {
    const kind = kindOf(operation);
    if (kind === undefined || !(await didWork(engine, letter, operation))) continue;
    moments.push({ kind, at: operation.createdAt, operation });
  }
  return moments;
}

function kindOf({ kind }: Operation): (typeof DECISIONS)[number] | undefined {
  return DECISIONS.find((one) => one === kind);
}

/** How far into a selection is looked for a burial whose number is not known any more. */
const LOOK_AT_MAX = 2000;

/** The number of the letter's burial leads to it; of an operation before that burial, its first letters are looked at. */
async function didWork(
  engine: Engine,
  { burial, ref }: StoredLetter,
  { id, bound }: Operation,
): Promise<boolean> {
  const page = bound >= burial ? { after: burial - 1, limit: 1 } : { limit: LOOK_AT_MAX };
  const selected = await engine.listSelected(id, { status: "done", ...page });
  return selected.some((one) => one.ref === ref);
}

/** A discard is told of once: by its operation, where that is known. */
function isOther(told: Moment): (moment: Moment) => boolean {
  const id = told.kind === "resolved" ? told.resolution.operationId : undefined;
  return (moment) => id === undefined || moment.kind !== "discard" || moment.operation.id !== id;
}
