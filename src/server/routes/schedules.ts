/** Handlers of the routes of schedules. */
import type { Engine } from "../../engine.ts";
import {
  listSchedules,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  requireSchedule,
  resumeSchedule,
  type Schedule,
  scheduleToJson,
} from "../../queue/schedules.ts";
import { compact, type Json, type JsonObject } from "../../std/json.ts";
import type { Handler } from "../context.ts";
import type { scheduleRoutes } from "../contract/schedules.ts";

type Routes = typeof scheduleRoutes;

export const scheduleHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /schedules": async ({ engine }) => {
    const now = await engine.now();
    return { schedules: (await listSchedules(engine)).map((one) => scheduleToJson(one, now)) };
  },

  "GET /schedules/{schedule}": async ({ engine }, { params }) =>
    shown(engine, await requireSchedule(engine, params.schedule)),

  "PUT /schedules/{schedule}": async ({ engine }, { params, body }) => {
    const { ordering_key: orderingKey, data, ...settings } = body;
    const given = compact({ ...settings, orderingKey, data: data as Json | undefined });
    return shown(engine, await putSchedule(engine, params.schedule, given));
  },

  "POST /schedules/{schedule}/pause": async ({ engine }, { params }) =>
    shown(engine, await pauseSchedule(engine, params.schedule)),

  "POST /schedules/{schedule}/resume": async ({ engine }, { params }) =>
    shown(engine, await resumeSchedule(engine, params.schedule)),

  "DELETE /schedules/{schedule}": async ({ engine }, { params }) =>
    shown(engine, await removeSchedule(engine, params.schedule)),
};

async function shown(engine: Engine, schedule: Schedule): Promise<JsonObject> {
  return scheduleToJson(schedule, await engine.now());
}
