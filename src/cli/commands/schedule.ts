/** `redrive schedule create|list|show|pause|resume|remove`: manages cron schedules, which add items to queues. */
import type { Engine } from "../../engine.ts";
import { PRIORITIES } from "../../item/item.ts";
import type { Schedule, ScheduleSettings } from "../../queue/schedules.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { asText, compact } from "../../std/json.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { readJsonOption } from "../json-input.ts";
import { choice, duration, itemBackoff, required, retries, withDefault, word } from "../options.ts";
import { detailsText, table, titleOf } from "../render/layout.ts";
import { minuteText } from "../render/text.ts";

/** Loaded on demand, because it loads the parser of cron patterns. */
const schedules = () => import("../../queue/schedules.ts");

const name = argument("<schedule>", "the schedule name; see: redrive schedule list");

const create = command({
  summary: "Create a schedule, or change the existing one with this name.",
  description: "Workers add the items, so at least one `redrive worker` must run, on any machine.",
  examples: [
    "redrive schedule create nightly --queue reports --cron '0 3 * * *' --timezone Europe/Berlin",
    "redrive schedule create poll --queue feeds --cron '*/5 * * * *' --missed skip --data '{\"feed\": 1}'",
  ],
  arguments: { name: argument("<schedule>", "the schedule name, without @") },
  options: {
    queue: required(word("--queue <queue>", "the queue that the items are added to")),
    cron: required(
      word("--cron <pattern>", "the cron pattern: minute, hour, day, month, weekday; seconds may come first"),
    ),
    timezone: word(
      "--timezone <zone>",
      "the time zone of the cron pattern, such as Europe/Berlin (default: UTC)",
    ),
    data: word("--data <json>", "the data of every item, or @FILE (default: null)"),
    missed: withDefault(
      choice("--missed <rule>", "how to handle missed runs: skip them, run only the last one, or run all", [
        "skip",
        "last",
        "all",
      ] as const),
      "last",
    ),
    itemName: word("-n, --name <name>", "a display name for the items"),
    priority: choice(
      "--priority <priority>",
      "the priority; high items are processed first (default: the queue's setting)",
      PRIORITIES,
    ),
    orderingKey: word("--ordering-key <key>", "the ordering key of the items"),
    expiresAfterMs: duration(
      "--expires-after <duration>",
      "when an item expires (default: the queue's setting)",
    ),
    retries: retries("how often an item is retried (default: the queue's setting)"),
    backoff: itemBackoff,
  },
  run: async (context, { name: scheduleName, data, itemName, ...given }) => {
    const { putSchedule } = await schedules();
    const { cwd } = context.terminal;
    const value = data === undefined ? undefined : readJsonOption(data, { option: "--data", cwd });
    const settings = compact({ ...given, data: await value, name: itemName }) as ScheduleSettings;
    return answer(context, "Saved", (engine) => putSchedule(engine, scheduleName, settings));
  },
});

const list = command({
  isDefault: true,
  summary: "List schedules with their next runs.",
  examples: ["redrive schedule list"],
  run: async (context) => {
    const { listSchedules, nextRunAt, scheduleToJson } = await schedules();
    const { all, now } = await context.withStore(async (engine) => ({
      all: await listSchedules(engine),
      now: await engine.now(),
    }));
    return context.answer({ schedules: all.map((one) => scheduleToJson(one, now)) }, () => {
      if (all.length === 0) return "No schedules.\n";
      return table(
        all,
        [
          { title: "SCHEDULE", value: ({ scheduleName }) => scheduleName },
          { title: "QUEUE", value: ({ queue }) => queue },
          { title: "CRON", value: ({ cron }) => cron },
          { title: "TIME ZONE", value: ({ timezone }) => timezone, giveUp: 1 },
          { title: "LAST RUN", value: ({ lastRunAt }) => time(lastRunAt), giveUp: 2 },
          { title: "NEXT RUN", value: (one) => nextText(one, nextRunAt(one, now)) },
        ],
        context.columns,
      );
    });
  },
});

function time(at: number | undefined): string {
  return at === undefined ? "" : minuteText(at);
}

function nextText({ pausedAt }: Schedule, next: number | null): string {
  if (pausedAt !== undefined) return "paused";
  return next === null ? "none" : minuteText(next);
}

const show = command({
  summary: "Show a schedule: its settings, its last run and its next run.",
  examples: ["redrive schedule show nightly"],
  arguments: { name },
  run: async (context, { name: given }) => {
    const { nextRunAt, requireSchedule, scheduleToJson } = await schedules();
    const { schedule, now } = await context.withStore(async (engine) => ({
      schedule: await requireSchedule(engine, given),
      now: await engine.now(),
    }));
    return context.answer(scheduleToJson(schedule, now), () =>
      detailsText(
        [
          {
            ...titleOf(
              schedule.scheduleName,
              schedule.pausedAt === undefined ? "" : context.paint.yellow("paused"),
            ),
            facts: [
              ["Queue", schedule.queue],
              ["Pattern", `${schedule.cron} (${schedule.timezone})`],
              ["Missed", schedule.missed],
              ["Next run", nextText(schedule, nextRunAt(schedule, now))],
              ["Last run", schedule.lastRunAt === undefined ? "none" : toRfc3339(schedule.lastRunAt)],
              ["Last item", schedule.lastItemId],
              ["Left out", schedule.skipped > 0 ? `${schedule.skipped} runs` : undefined],
              ["Problem", schedule.problem],
            ],
          },
          { title: "Data", lines: [asText(schedule.data ?? null)] },
        ],
        context,
      ),
    );
  },
});

const pause = changing({
  summary: "Pause a schedule: it adds no items until it is resumed.",
  examples: ["redrive schedule pause nightly"],
  done: "Paused",
  change: "pauseSchedule",
});

const resume = changing({
  summary: "Resume a schedule; runs that were due during the pause are skipped.",
  examples: ["redrive schedule resume nightly"],
  done: "Resumed",
  change: "resumeSchedule",
});

interface Change {
  readonly summary: string;
  readonly examples: readonly string[];
  readonly done: string;
  readonly change: "pauseSchedule" | "resumeSchedule";
}

function changing({ done, change, ...texts }: Change) {
  return command({
    ...texts,
    arguments: { name },
    run: async (context, { name: given }) => {
      const { [change]: run } = await schedules();
      return answer(context, done, (engine) => run(engine, given));
    },
  });
}

const remove = command({
  summary: "Remove a schedule; items that it has added are kept.",
  examples: ["redrive schedule remove nightly"],
  arguments: { name },
  run: async (context, { name: given }) => {
    const { removeSchedule, scheduleToJson } = await schedules();
    const { removed, now } = await context.withStore(async (engine) => ({
      removed: await removeSchedule(engine, given),
      now: await engine.now(),
    }));
    return context.answer(scheduleToJson(removed, now), () => `Removed the schedule ${given}.\n`);
  },
});

/** Changes a schedule and prints what happened and the next run. */
async function answer(
  context: Context,
  done: string,
  change: (engine: Engine) => Promise<Schedule>,
): Promise<number> {
  const { nextRunAt, scheduleToJson } = await schedules();
  const { schedule, now } = await context.withStore(async (engine) => ({
    schedule: await change(engine),
    now: await engine.now(),
  }));
  const next = nextRunAt(schedule, now);
  const coming = next === null ? "" : ` Next run: ${toRfc3339(next)}.`;
  return context.answer(
    scheduleToJson(schedule, now),
    () => `${done} the schedule ${schedule.scheduleName}.${coming}\n`,
  );
}

export const commands = { create, list, show, pause, resume, remove };
