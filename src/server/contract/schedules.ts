/** Routes of schedules, which add items to queues by cron patterns. */
import * as z from "zod";
import { PRIORITIES } from "../../item/item.ts";
import { MISSED_RULES } from "../../queue/schedules.ts";
import { data, time } from "./documents.ts";
import { name } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "schedules";
const params = z.strictObject({ schedule: name });

export const schedule = z
  .looseObject({
    schedule: z.string(),
    queue: z.string(),
    cron: z.string(),
    timezone: z.string(),
    missed: z.enum(MISSED_RULES),
    data,
    paused_at: time.nullable(),
    last_run_at: time.nullable(),
    next_run_at: time.nullable(),
  })
  .meta({ id: "Schedule" });

export const scheduleRoutes = {
  "GET /schedules": {
    id: "listSchedules",
    tag,
    summary: "List schedules by name.",
    role: "viewer",
    response: z.looseObject({ schedules: z.array(schedule) }),
    errors: [],
  },
  "GET /schedules/{schedule}": {
    id: "showSchedule",
    tag,
    summary: "Show a schedule with its next run.",
    role: "viewer",
    params,
    response: schedule,
    errors: ["schedule_not_found"],
  },
  "PUT /schedules/{schedule}": {
    id: "putSchedule",
    tag,
    summary: "Create a schedule, or change the existing one.",
    role: "admin",
    params,
    body: z.strictObject({
      queue: name,
      cron: z
        .string()
        .min(1)
        .max(200)
        .meta({ examples: ["0 6 * * *"] }),
      timezone: z.string().max(100).optional(),
      data: data.optional(),
      missed: z.enum(MISSED_RULES).optional(),
      name: z.string().max(512).optional(),
      priority: z.enum(PRIORITIES).optional(),
      ordering_key: z.string().min(1).max(512).optional(),
    }),
    response: schedule,
    errors: ["job_not_found", "usage"],
  },
  "POST /schedules/{schedule}/pause": {
    id: "pauseSchedule",
    tag,
    summary: "Pause a schedule: it adds no items.",
    role: "operator",
    params,
    response: schedule,
    errors: ["schedule_not_found"],
    isRepeatable: true,
  },
  "POST /schedules/{schedule}/resume": {
    id: "resumeSchedule",
    tag,
    summary: "Resume a paused schedule.",
    role: "operator",
    params,
    response: schedule,
    errors: ["schedule_not_found"],
    isRepeatable: true,
  },
  "DELETE /schedules/{schedule}": {
    id: "removeSchedule",
    tag,
    summary: "Remove a schedule. Items that it has added are kept.",
    role: "admin",
    params,
    response: schedule,
    errors: ["schedule_not_found"],
  },
} as const satisfies Routes;
