/** Cron schedules of a store, which add items to queues. Workers of any program run them. */
import * as z from "zod";
import { PRIORITIES, type Priority } from "../item/item.ts";
import {
  listSchedules,
  MISSED_RULES,
  type MissedRule,
  nextRunAt,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  requireSchedule,
  resumeSchedule,
  type ScheduleSettings,
  type Schedule as StoredSchedule,
} from "../queue/schedules.ts";
import * as t from "../std/check-input.ts";
import { compact, type Json } from "../std/json.ts";
import { jsonProblem, toJsonData } from "./checked/json-data.ts";
import type { Context } from "./context.ts";
import type { Backoff, Duration, Shape } from "./values.ts";
import * as v from "./values.ts";

/** The settings of a schedule. */
export interface ScheduleOptions {
  /** The queue that gets the items. It must exist. */
  readonly queue: string;
  /** A cron pattern of five fields, or of six with seconds first. */
  readonly cron: string;
  /** The time zone of the pattern, such as `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string;
  /** The data of every item. Default null. */
  readonly data?: unknown;
  /**
   * What happens to runs that were missed because no worker was running: skip them, run the last, or run all.
   * Default `last`.
   */
  readonly missed?: MissedRule;
  /** A display name for the items. */
  readonly name?: string;
  readonly priority?: Priority;
  readonly orderingKey?: string;
  /** How long after its due time an item expires. Default: the queue's setting. */
  readonly expiresAfter?: Duration;
  readonly retries?: number;
  readonly backoff?: Backoff;
}

const json = t.anyThat((value) => jsonProblem(value) === undefined, "data that JSON can represent");

const scheduleOptions = z.strictObject({
  queue: t.name,
  cron: t.name,
  timezone: t.name.optional(),
  data: json.optional(),
  missed: t.oneOf(MISSED_RULES).optional(),
  name: t.text.optional(),
  priority: t.oneOf(PRIORITIES).optional(),
  orderingKey: t.name.optional(),
  expiresAfter: v.durationFrom(1).optional(),
  retries: v.retries.optional(),
  backoff: v.backoff.optional(),
} satisfies Shape<ScheduleOptions>);

/** A schedule as last read or changed. */
export interface Schedule {
  readonly name: string;
  readonly queue: string;
  readonly cron: string;
  readonly timezone: string;
  readonly data: Json;
  readonly missed: MissedRule;
  readonly isPaused: boolean;
  /** The last run that was added; null before the first. */
  readonly lastRun: { readonly at: Date; readonly itemId: string } | null;
  /** Null while the schedule is paused. */
  readonly nextRun: Date | null;
  /** How many runs were skipped by the rule for missed runs. */
  readonly skipped: number;
  /** Why the last run could not be added. */
  readonly problem?: string;
}

/** The schedules of a store. */
export class Schedules {
  readonly #context: Context;

  /** @internal */
  constructor(context: Context) {
    this.#context = context;
  }

  /** Creates a schedule, or changes the one with this name. */
  async put(name: string, options: ScheduleOptions): Promise<Schedule> {
    t.parseInput(t.name, name, { caller: "redrive.schedule", name: "name" });
    const given = t.parseInput(scheduleOptions, options, { caller: "redrive.schedule", name: "options" });
    const { expiresAfter, data, ...others } = given;
    const settings = compact({
      ...others,
      expiresAfterMs: expiresAfter,
      data: data === undefined ? undefined : toJsonData(data),
    }) as unknown as ScheduleSettings;
    return this.#seen(await putSchedule(this.#context.engine, name, settings));
  }

  /** All schedules, by name. */
  async list(): Promise<readonly Schedule[]> {
    return Promise.all((await listSchedules(this.#context.engine)).map((one) => this.#seen(one)));
  }

  /** Throws `schedule_not_found` for an unknown name, as the following methods do. */
  async get(name: string): Promise<Schedule> {
    return this.#seen(await requireSchedule(this.#context.engine, name));
  }

  /** Adds no items until the schedule is resumed. Runs in the meantime are skipped. */
  async pause(name: string): Promise<Schedule> {
    return this.#seen(await pauseSchedule(this.#context.engine, name));
  }

  async resume(name: string): Promise<Schedule> {
    return this.#seen(await resumeSchedule(this.#context.engine, name));
  }

  /** Removes the schedule. Items that it has added are kept. */
  async remove(name: string): Promise<void> {
    await removeSchedule(this.#context.engine, name);
  }

  async #seen(schedule: StoredSchedule): Promise<Schedule> {
    const { scheduleName: name, queue, cron, timezone, data = null, missed, skipped, problem } = schedule;
    const { lastRunAt, lastItemId = "", pausedAt } = schedule;
    const next = nextRunAt(schedule, await this.#context.engine.now());
    return {
      ...{ name, queue, cron, timezone, data, missed, skipped, isPaused: pausedAt !== undefined },
      lastRun: lastRunAt === undefined ? null : { at: new Date(lastRunAt), itemId: lastItemId },
      nextRun: next === null ? null : new Date(next),
      ...(problem !== undefined && { problem }),
    };
  }
}
