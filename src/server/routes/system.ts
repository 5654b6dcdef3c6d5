/**
 * Handlers of the routes that are not limited to one queue: overview, events, errors, alerts, the store and
 * settings.
 */
import type { Engine } from "../../engine.ts";
import { eventToJson } from "../../item/event.ts";
import { errorToJson, readErrors } from "../../queue/error-log.ts";
import { requireJob } from "../../queue/find-job.ts";
import { notificationToJson } from "../../service/alert-message.ts";
import { Watcher } from "../../service/alert-watcher.ts";
import { metricsToJson, readMetrics } from "../../service/metrics.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { parseDuration } from "../../std/duration.ts";
import { compact, type Json } from "../../std/json.ts";
import { listAudit } from "../audit.ts";
import type { Handler } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { systemRoutes } from "../contract/system.ts";
import { eventStream } from "../event-stream.ts";
import { RequestError } from "../problem.ts";

type Routes = typeof systemRoutes;

export const systemHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /overview": async ({ engine }) => metricsToJson(await readMetrics(engine)),

  "GET /events": async (context, { query }) => {
    const { engine, events, headers, signal, clock, redactor } = context;
    const mask = redactor === null ? undefined : (event: Json) => redactor.document(event) as Json;
    const filter = await eventFilter(engine, query);
    const given = headers.get("last-event-id") ?? query.after;
    if (given !== undefined && !/^\d{1,16}$/.test(given))
      throw new RequestError("request_invalid", "Last-Event-ID is not an event id.");
    const after = given === undefined ? await engine.newestEvent() : Number(given);
    return eventStream({ signal: signal(), clock }, (stop) =>
      events.follow(after, { ...filter, ...compact({ mask }) }, stop),
    );
  },

  "GET /events/list": async (
    { engine },
    { query: { limit = PAGE_DEFAULT, cursor = "0", since, ...words } },
  ) => {
    const from = since === undefined ? undefined : (await engine.now()) - parseDuration(since, "since");
    const filter = await eventFilter(engine, words);
    const query = { ...filter, after: Number(cursor), limit, ...compact({ since: from }) };
    const found = await engine.listEvents(query);
    return { events: found.map(eventToJson), next: String(found.at(-1)?.id ?? cursor) };
  },

  "GET /errors": async ({ engine }, { query }) => {
    const { queue, item_id: itemId, origin, since, limit = PAGE_DEFAULT, cursor } = query;
    const queues: string[] = [];
    for (const name of queue ?? []) queues.push((await requireJob(engine, name)).id);
    const wanted = compact({
      queues: queue && queues,
      itemId,
      origin,
      since: since === undefined ? undefined : (await engine.now()) - parseDuration(since, "since"),
      before: cursor === undefined ? undefined : Number(cursor),
    });
    const { errors, next } = await readErrors(engine, { ...wanted, limit });
    return { errors: errors.map(errorToJson), next: next === null ? null : String(next) };
  },

  "GET /alerts": async ({ engine, config }) => {
    const settings = (await config()).watch;
    const open = async () => engine;
    const { at, alerts } = await new Watcher({ open, storeUrl: engine.url, settings, env: {} }).preview();
    return {
      at: toRfc3339(at),
      alerts: alerts.map((alert) => notificationToJson({ alert, state: "raised" })),
    };
  },

  "GET /store": async ({ engine }) => {
    const {
      engine: kind,
      schemaVersion,
      bytes,
      jobs,
      items,
      letters,
      attempts,
      events,
    } = await engine.info();
    return { engine: kind, schema_version: schemaVersion, bytes, jobs, items, letters, attempts, events };
  },

  "POST /store/check": async ({ engine }) => {
    const problems = await engine.check();
    return { ok: problems.length === 0, problems: problems.map((problem) => ({ ...problem })) };
  },

  "GET /settings": async ({ config }) => {
    const { dlq, jobs, fixes, groups, classify, watch } = await config();
    return {
      dlq: { ...dlq },
      jobs: { ...jobs },
      fixes: fixes.map(({ name, auto }) => ({ name, auto })),
      group_rules: groups.length,
      class_rules: classify.length,
      alert_rules: watch.rules.map((rule) => ({ ...rule })) as unknown as Json,
      alert_channels: watch.channels.map(({ name }) => name), // addresses and commands may contain secrets
    };
  },

  "GET /audit": async ({ engine }, { query: { limit = PAGE_DEFAULT, cursor, queue, author } }) => {
    const own = queue === undefined ? undefined : (await requireJob(engine, queue)).id;
    return listAudit(engine, {
      limit,
      scanMax: SCAN_MAX,
      ...compact({ queue: own, author, before: cursor === undefined ? undefined : Number(cursor) }),
    });
  },
};

/** Few events are changes by people. A page ends after reading this many events, so that no request takes long. */
const SCAN_MAX = 100_000;

async function eventFilter(
  engine: Engine,
  {
    queue,
    type: types,
  }: { readonly queue?: string | undefined; readonly type?: readonly string[] | undefined },
) {
  const id = queue === undefined ? undefined : (await requireJob(engine, queue)).id;
  return compact({ queue: id, types }) as { readonly queue?: string; readonly types?: never };
}
