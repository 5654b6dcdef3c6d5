/**
 * Cron schedules: each due run adds one item to a queue. All schedules are in one shared document, which is
 * changed by compare-and-set. The id of an item is derived from its schedule and due time, so the item is
 * added only once, even if several processes add it or one crashes.
 */
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Priority } from "../item/item.ts";
import type { ItemOptions } from "../item/item-options.ts";
import type { RecordedChange } from "../item/store-queries.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import { openQueueIntake } from "./add-items.ts";
import { isTimeZone, patternProblem, runAfter } from "./cron.ts";
import { requireQueue } from "./find-job.ts";
import { backoffToText } from "./queue-spec.ts";

export const MISSED_RULES = ["skip", "last", "all"] as const;
/**
 * How to handle runs that were due while no scheduler was running: skip them, add only the last, or add all.
 */
export type MissedRule = (typeof MISSED_RULES)[number];

/** The settings of a schedule. */
export interface ScheduleSettings extends ItemOptions {
  /** The queue that the items are added to. */
  readonly queue: string;
  /** A cron pattern of five fields, or of six with seconds first. */
  readonly cron: string;
  /** The time zone of the pattern, such as `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string;
  /** The data of every item. Default null. */
  readonly data?: Json;
  /** Default `last`. */
  readonly missed?: MissedRule;
  readonly name?: string;
  readonly priority?: Priority;
  readonly orderingKey?: string;
  /** How long after its due time an item expires. Default: the queue's setting. */
  readonly expiresAfterMs?: number;
}

/** A schedule with its state. */
export interface Schedule extends ScheduleSettings {
  readonly scheduleName: string;
  readonly timezone: string;
  readonly missed: MissedRule;
  readonly createdAt: number;
  /** Runs up to this time have been handled. */
  readonly handledUntil: number;
  readonly pausedAt?: number;
  /** The last run that was added. */
  readonly lastRunAt?: number;
  readonly lastItemId?: string;
  /** How many runs were skipped by the rule for missed runs. */
  readonly skipped: number;
  /** Why the last run could not be added. */
  readonly problem?: string;
}

const DOCUMENT = "schedules";
/** A run that is handled later than this counts as missed. */
export const LATE_MS = 60_000;
/** The rule `all` adds at most this many missed runs at once; older ones are skipped. */
export const MISSED_MAX = 1000;
const TRIES_MAX = 50;

interface Stored {
  readonly version: number;
  readonly schedules: Readonly<Record<string, Schedule>>;
}

/** Creates the schedule, or changes the existing one. A changed pattern applies from now on. */
export async function putSchedule(
  engine: Engine,
  scheduleName: string,
  settings: ScheduleSettings,
): Promise<Schedule> {
  checkSettings(scheduleName, settings);
  await requireQueue(engine, settings.queue);
  const now = await engine.now();
  return change(engine, (schedules) => {
    const known = Object.hasOwn(schedules, scheduleName) ? schedules[scheduleName] : undefined;
    const { timezone = "UTC", missed = "last", ...others } = settings;
    const isSamePattern = known?.cron === settings.cron && known.timezone === timezone;
    const made: Schedule = {
      ...others,
      scheduleName,
      timezone,
      missed,
      createdAt: known?.createdAt ?? now,
      handledUntil: isSamePattern ? known.handledUntil : now,
      skipped: known?.skipped ?? 0,
      ...(known &&
        compact({ pausedAt: known.pausedAt, lastRunAt: known.lastRunAt, lastItemId: known.lastItemId })),
    };
    const { queue, cron } = settings;
    const recorded = { action: "schedule_set", details: { schedule: scheduleName, queue, cron, timezone } };
    return { schedules: { ...schedules, [scheduleName]: made }, answer: made, recorded };
  });
}

/** Lists the schedules by name. */
export async function listSchedules(engine: Engine): Promise<readonly Schedule[]> {
  const { schedules } = await readStored(engine);
  return Object.values(schedules).sort((a, b) => (a.scheduleName < b.scheduleName ? -1 : 1));
}

export async function requireSchedule(engine: Engine, name: string): Promise<Schedule> {
  const { schedules } = await readStored(engine);
  return found(schedules, name);
}

/** Stops adding items. Runs that are due during the pause are skipped. */
export async function pauseSchedule(engine: Engine, name: string): Promise<Schedule> {
  const now = await engine.now();
  return changeOne(engine, name, (schedule) =>
    schedule.pausedAt === undefined
      ? { action: "schedule_paused", to: { ...schedule, pausedAt: now } }
      : null,
  );
}

/** Adds items again, from the next run on. */
export async function resumeSchedule(engine: Engine, name: string): Promise<Schedule> {
  const now = await engine.now();
  return changeOne(engine, name, (schedule) => {
    const { pausedAt, ...others } = schedule;
    return pausedAt === undefined
      ? null
      : { action: "schedule_resumed", to: { ...others, handledUntil: now } };
  });
}

/** Removes the schedule. Items that it has added are kept. */
export async function removeSchedule(engine: Engine, name: string): Promise<Schedule> {
  return change(engine, (schedules) => {
    const removed = found(schedules, name);
    const { [name]: _, ...others } = schedules;
    const recorded = { action: "schedule_removed", details: { schedule: name } };
    return { schedules: others, answer: removed, recorded };
  });
}

/** Returns the next run after the given time, or null if there is none or the schedule is paused. */
export function nextRunAt(schedule: Schedule, after: number): number | null {
  if (schedule.pausedAt !== undefined) return null;
  return runAfter(schedule, Math.max(after, schedule.handledUntil));
}

/** Returns the id of the item for one run. */
export function runItemId(scheduleName: string, dueAt: number): string {
  return `${scheduleName}@${toRfc3339(dueAt).replace(".000Z", "Z")}`;
}

/**
 * Adds the items for all due runs, then records the runs. If the process ends in between, the next one adds
 * the same ids again, which changes nothing. Returns the time of the next run of any schedule, or null.
 */
export async function runSchedules(engine: Engine): Promise<number | null> {
  const schedules = await listSchedules(engine);
  const now = await engine.now(); // read last: a run that another process has recorded must not seem to be in the future
  let next = Number.POSITIVE_INFINITY;
  for (const schedule of schedules) {
    if (schedule.pausedAt !== undefined) continue;
    const runs = dueRuns(schedule, now);
    if (runs.handledUntil !== schedule.handledUntil) {
      const added = await addRuns(engine, schedule, { runs: runs.add, now });
      await recordRuns(engine, schedule, { ...runs, ...added });
    }
    next = Math.min(next, nextRunAt(schedule, now) ?? next);
  }
  return Number.isFinite(next) ? next : null;
}

export interface DueRuns {
  /** The runs to add, according to the rule for missed runs. */
  readonly add: readonly number[];
  readonly skipped: number;
  readonly handledUntil: number;
}

/**
 * Returns the runs that are due and not yet handled. If the clock was set back, runs are counted from now;
 * repeated runs have ids that already exist.
 */
export function dueRuns(schedule: Schedule, now: number): DueRuns {
  const { missed, handledUntil } = schedule;
  if (handledUntil > now) return { add: [], skipped: 0, handledUntil: now };
  const onTime: number[] = [];
  let late: number[] = [];
  let skipped = 0;
  for (let at = runAfter(schedule, handledUntil); at !== null && at <= now; at = runAfter(schedule, at)) {
    if (now - at <= LATE_MS) onTime.push(at);
    else late.push(at);
    if (late.length < 2 * MISSED_MAX) continue;
    skipped += late.length - MISSED_MAX;
    late = late.slice(-MISSED_MAX);
  }
  const kept = keptRuns(missed, { late, onTime });
  const last = onTime.at(-1) ?? late.at(-1);
  return {
    add: [...kept, ...onTime],
    skipped: skipped + late.length - kept.length,
    handledUntil: last ?? handledUntil,
  };
}

function keptRuns(
  missed: MissedRule,
  { late, onTime }: { readonly late: readonly number[]; readonly onTime: readonly number[] },
): readonly number[] {
  if (missed === "skip") return [];
  if (missed === "all") return late.slice(-MISSED_MAX);
  return onTime.length > 0 ? [] : late.slice(-1);
}

interface AddedRuns {
  readonly lastRunAt?: number;
  readonly lastItemId?: string;
  readonly problem?: string;
}

/** A key that already exists was added by another process for the same run, or by an earlier try. */
async function addRuns(
  engine: Engine,
  schedule: Schedule,
  { runs, now }: { readonly runs: readonly number[]; readonly now: number },
): Promise<AddedRuns> {
  const last = runs.at(-1);
  if (last === undefined) return {};
  const { scheduleName, data = null, name, priority, orderingKey, expiresAfterMs } = schedule;
  const { retries, backoff, context } = schedule;
  const own = compact({ name, priority, orderingKey, retries, backoff, context });
  const items = runs.map((at) => ({
    ...own,
    data,
    key: runItemId(scheduleName, at),
    ...(expiresAfterMs !== undefined && { expiresAt: Math.max(at, now) + expiresAfterMs }),
  }));
  try {
    const intake = await openQueueIntake(engine, await requireQueue(engine, schedule.queue));
    const outcomes = await intake.add(items, { author: `schedule ${scheduleName}` });
    const refused = outcomes.find(({ outcome, because }) => outcome === "refused" && because !== "key_taken");
    if (refused !== undefined) return { problem: `Not added: ${refused.reason}.` };
  } catch (error) {
    if (!(error instanceof RedriveError) || error.code !== "job_not_found") throw error;
    return { problem: error.message };
  }
  return { lastRunAt: last, lastItemId: runItemId(scheduleName, last) };
}

/** Records the runs unless another process has recorded them, or the schedule was changed, in the meantime. */
async function recordRuns(engine: Engine, seen: Schedule, runs: DueRuns & AddedRuns): Promise<void> {
  await change(engine, (schedules) => {
    const now = schedules[seen.scheduleName];
    if (now === undefined || now.handledUntil !== seen.handledUntil || now.cron !== seen.cron) return null;
    const { problem: _, ...others } = now;
    const { handledUntil, skipped, problem, lastRunAt, lastItemId } = runs;
    const next: Schedule = {
      ...others,
      handledUntil,
      skipped: now.skipped + skipped,
      ...compact({ problem, lastRunAt, lastItemId }),
    };
    return { schedules: { ...schedules, [seen.scheduleName]: next }, answer: next };
  });
}

export function scheduleToJson(schedule: Schedule, now: number): JsonObject {
  const next = nextRunAt(schedule, now);
  const time = (at: number | undefined | null) => (at === undefined || at === null ? null : toRfc3339(at));
  return compact({
    schedule: schedule.scheduleName,
    queue: schedule.queue,
    cron: schedule.cron,
    timezone: schedule.timezone,
    missed: schedule.missed,
    data: schedule.data ?? null,
    name: schedule.name,
    priority: schedule.priority,
    ordering_key: schedule.orderingKey,
    retries: schedule.retries,
    backoff: schedule.backoff && backoffToText(schedule.backoff),
    expires_after_ms: schedule.expiresAfterMs,
    context: schedule.context,
    paused_at: time(schedule.pausedAt),
    created_at: time(schedule.createdAt),
    last_run_at: time(schedule.lastRunAt),
    last_item_id: schedule.lastItemId ?? null,
    next_run_at: time(next),
    skipped: schedule.skipped,
    problem: schedule.problem,
  }) as JsonObject;
}

const NAME_CHARS_MAX = 200;

function checkSettings(name: string, { cron, timezone = "UTC" }: ScheduleSettings): void {
  if (name.trim() === "" || name.length > NAME_CHARS_MAX || /[@\p{Cc}]/u.test(name)) {
    throw new RedriveError("usage", `"${name}" is not a valid schedule name.`, {
      field: "name",
      hint: `Use 1 to ${NAME_CHARS_MAX} characters, with no @ and no control characters.`,
    });
  }
  if (!isTimeZone(timezone)) {
    throw new RedriveError("usage", `Unknown time zone "${timezone}".`, {
      field: "timezone",
      hint: "Use an IANA time zone name, such as Europe/Berlin or UTC.",
    });
  }
  const why = patternProblem(cron, timezone);
  if (why === undefined) return;
  throw new RedriveError("usage", `Invalid cron pattern "${cron}": ${why}.`, {
    field: "cron",
    hint: 'Write minute, hour, day, month and weekday, such as "30 6 * * 1-5"; seconds may come first.',
  });
}

function found(schedules: Stored["schedules"], name: string): Schedule {
  const schedule = Object.hasOwn(schedules, name) ? schedules[name] : undefined; // excludes inherited properties such as `constructor`
  if (schedule !== undefined) return schedule;
  const meant = nearest(name, Object.keys(schedules));
  throw new RedriveError("schedule_not_found", `There is no schedule ${name}.`, {
    hint: meant === undefined ? "To list the schedules: redrive schedule list" : `Did you mean ${meant}?`,
  });
}

async function readStored(engine: Engine): Promise<Stored> {
  const document = await engine.readDocument(DOCUMENT);
  const schedules = isJsonObject(document?.body) ? document.body : {};
  return { version: document?.version ?? 0, schedules: schedules as unknown as Stored["schedules"] };
}

/** Changes a schedule, unless the step returns null because there is nothing to change. */
async function changeOne(
  engine: Engine,
  name: string,
  step: (schedule: Schedule) => { readonly action: string; readonly to: Schedule } | null,
): Promise<Schedule> {
  const changed = await change(engine, (schedules) => {
    const next = step(found(schedules, name));
    if (next === null) return null;
    const { action, to } = next;
    const recorded = { action, details: { schedule: name } };
    return { schedules: { ...schedules, [name]: to }, answer: to, recorded };
  });
  return changed ?? requireSchedule(engine, name);
}

interface Change<Answer> {
  readonly schedules: Stored["schedules"];
  readonly answer: Answer;
  /** The change to show in the audit. Default: none, because the scheduler made the change. */
  readonly recorded?: RecordedChange;
}

/**
 * Changes the document. Repeats the change if another process changed the document first. If `change` returns
 * null, nothing is written.
 */
async function change<Answer>(
  engine: Engine,
  steps: (schedules: Stored["schedules"]) => Change<Answer>,
): Promise<Answer>;
async function change<Answer>(
  engine: Engine,
  steps: (schedules: Stored["schedules"]) => Change<Answer> | null,
): Promise<Answer | null>;
async function change<Answer>(
  engine: Engine,
  steps: (schedules: Stored["schedules"]) => Change<Answer> | null,
): Promise<Answer | null> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const { version, schedules } = await readStored(engine);
    const next = steps(schedules);
    if (next === null) return null;
    const body = next.schedules as unknown as JsonObject;
    const document = { seen: version, body, ...(next.recorded && { change: next.recorded }) };
    if (await engine.writeDocument(DOCUMENT, document)) return next.answer;
  }
  throw new RedriveError("store_busy", "Other processes keep changing the schedules.", {
    hint: "Try again.",
  });
}
