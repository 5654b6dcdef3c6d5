/** Routes that are not limited to one queue: overview, events, errors, alerts, the store, settings and the audit. */
import * as z from "zod";
import { ERROR_ORIGINS } from "../../item/error-log.ts";
import { EVENT_TYPES } from "../../item/event.ts";
import { count, event, next, time } from "./documents.ts";
import { duration, itemId, limit, name } from "./filter.ts";
import type { Routes } from "./route.ts";

const cursor = z
  .string()
  .regex(/^\d{1,16}$/)
  .optional();

const eventFilter = z.strictObject({
  queue: name.optional(),
  type: z.array(z.enum(EVENT_TYPES)).min(1).optional(),
});

export const auditEntry = z
  .looseObject({
    id: z.string(),
    at: time,
    author: z.string(),
    via: z.enum(["cli", "api", "library", "mcp", "console", "unknown"]),
    action: z.string(),
    queue: z.string().nullable(),
    item_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "AuditEntry" });

export const systemRoutes = {
  "GET /overview": {
    id: "overview",
    tag: "system",
    summary: "Summary numbers for all queues and jobs.",
    role: "viewer",
    isShared: true,
    response: z.looseObject({ queues: z.array(z.looseObject({})) }),
    errors: [],
  },
  "GET /events": {
    id: "followEvents",
    tag: "events",
    summary: "Follow events as server-sent events; `Last-Event-ID` continues after an event.",
    description:
      "Without Last-Event-ID or `after`, only new events are sent. A slow client is disconnected and can continue from its last event id.",
    role: "viewer",
    query: eventFilter.extend({
      after: cursor.meta({ description: "continue after the event with this id" }),
    }),
    response: { contentType: "text/event-stream", description: "One event per change, with its id." },
    errors: ["job_not_found"],
  },
  "GET /events/list": {
    id: "listEvents",
    tag: "events",
    summary: "List events, oldest first.",
    role: "viewer",
    query: eventFilter.extend({ limit, cursor, since: duration.optional() }),
    response: z.looseObject({ events: z.array(event), next: z.string() }),
    errors: ["job_not_found"],
  },
  "GET /errors": {
    id: "listErrors",
    tag: "events",
    summary: "The error log: every failure of every queue, newest first.",
    role: "viewer",
    query: z.strictObject({
      queue: z.array(name).min(1).max(50).optional(),
      item_id: itemId.optional(),
      origin: z.enum(ERROR_ORIGINS).optional(),
      since: duration.optional(),
      limit,
      cursor,
    }),
    response: z.looseObject({ errors: z.array(z.looseObject({ id: count, timestamp: time })), next }),
    errors: ["job_not_found"],
  },
  "GET /alerts": {
    id: "listAlerts",
    tag: "system",
    summary: "Check the alert rules now; send and store nothing.",
    role: "viewer",
    response: z.looseObject({ at: time, alerts: z.array(z.looseObject({})) }),
    errors: [],
  },
  "GET /store": {
    id: "storeInfo",
    tag: "system",
    summary: "Show the location, size and contents of the store.",
    role: "viewer",
    response: z.looseObject({ engine: z.string(), schema_version: count, bytes: count, letters: count }),
    errors: [],
  },
  "POST /store/check": {
    id: "checkStore",
    tag: "system",
    summary: "Verify the store and every invariant.",
    role: "admin",
    response: z.looseObject({
      ok: z.boolean(),
      problems: z.array(z.looseObject({ rule: z.string(), detail: z.string() })),
    }),
    errors: [],
    isRepeatable: true,
  },
  "GET /settings": {
    id: "readSettings",
    tag: "system",
    summary: "The redrive.yml settings that the server uses, without secrets.",
    role: "operator",
    response: z.looseObject({ dlq: z.looseObject({}), jobs: z.looseObject({}) }),
    errors: ["usage"],
  },
  "GET /audit": {
    id: "listAudit",
    tag: "system",
    summary: "List who changed what, newest first.",
    role: "operator",
    query: z.strictObject({ limit, cursor, queue: name.optional(), author: z.string().max(200).optional() }),
    response: z.looseObject({ entries: z.array(auditEntry), next }),
    errors: ["job_not_found"],
  },
} as const satisfies Routes;
