/** Handlers of the routes of queues and workers. */
import { Readable } from "node:stream";
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { Job } from "../../item/job.ts";
import { isGone } from "../../lease/holder.ts";
import { addItems, type QueueItem, recordAdded } from "../../queue/add-items.ts";
import { requireQueue } from "../../queue/find-job.ts";
import { importItems } from "../../queue/import-items.ts";
import { changeQueue, createQueue, type QueueSettings } from "../../queue/queue-settings.ts";
import { listQueues, queueToJson, summariseQueue } from "../../queue/queue-status.ts";
import { parseTimeOption, TIME_OPTION_FORMS } from "../../queue/time-option.ts";
import { parseRate } from "../../redrive/plan.ts";
import { parseBackoff } from "../../retry/backoff.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { parseDuration } from "../../std/duration.ts";
import { compact, type Json, type JsonObject } from "../../std/json.ts";
import type { Handler, RequestContext } from "../context.ts";
import type { queueRoutes } from "../contract/queues.ts";
import type { RouteInput } from "../contract.ts";
import { pausing } from "./pausing.ts";

type Routes = typeof queueRoutes;
type Families<Tag extends string> = {
  [Name in keyof Routes as Routes[Name]["tag"] extends Tag ? Name : never]: Handler<Routes[Name]>;
};

const { pause, resume } = pausing(
  (engine, { queue }: { readonly queue: string }) => requireQueue(engine, queue),
  shown,
);

export const queueHandlers: Families<"queues" | "workers"> = {
  "GET /queues": async ({ engine }) => ({ queues: (await listQueues(engine)).map(queueToJson) }),

  "POST /queues": async ({ engine }, { body: { name, ...settings } }) =>
    shown(engine, await createQueue(engine, name, settingsFrom(settings))),

  "GET /queues/{queue}": async ({ engine }, { params }) =>
    shown(engine, await requireQueue(engine, params.queue)),

  "PATCH /queues/{queue}": async ({ engine }, { params, body }) =>
    shown(engine, await changeQueue(engine, params.queue, settingsFrom(body))),

  "POST /queues/{queue}/pause": pause,
  "POST /queues/{queue}/resume": resume,

  "GET /workers": async ({ engine }) => {
    const alive = (await engine.listHolders()).filter((holder) => !isGone(holder));
    const workers: JsonObject[] = [];
    for (const { id, queue, host, pid, expiresAt } of alive) {
      const leased = (await engine.listLeases(id)).length;
      workers.push({ holder: id, queue, host, pid, leased, expires_at: toRfc3339(expiresAt) });
    }
    return { workers };
  },
};

async function shown(engine: Engine, job: Job): Promise<JsonObject> {
  return queueToJson(await summariseQueue(engine, job));
}

/** Converts the settings of a request, which are named like options, to those of the library. */
export function settingsFrom(given: RouteInput<Routes["PATCH /queues/{queue}"]>["body"]): QueueSettings {
  const duration = (text: string | null | undefined, what: string) =>
    typeof text === "string" ? parseDuration(text, what) : text;
  const { backoff, breaker, rate, schema } = given;
  const perSecond = (text: string) => {
    const { letters, perMs } = parseRate(text, "rate");
    return { perSecond: (letters * 1000) / perMs };
  };
  return compact({
    maxRetries: given.retries,
    backoff: backoff === undefined ? undefined : parseBackoff(backoff),
    onItemFailure: given.on_failure,
    onOutage: given.on_outage,
    outageMsMax: duration(given.max_outage, "max_outage"),
    lossesMax: given.max_losses,
    leaseMs: given.lease === undefined ? undefined : parseDuration(given.lease, "lease"),
    priority: given.priority,
    unique: given.unique,
    expiresAfterMs: duration(given.expires_after, "expires_after"),
    breaker:
      breaker &&
      compact({
        failureThreshold: breaker.failure_threshold,
        timeoutMs:
          breaker.timeout === undefined ? undefined : parseDuration(breaker.timeout, "breaker.timeout"),
      }),
    rate: typeof rate === "string" ? perSecond(rate) : rate,
    schema: schema as Json | undefined,
    description: given.description,
  }) as QueueSettings;
}

export const queueItemHandlers: Pick<
  Families<"items">,
  | "POST /queues/{queue}/items"
  | "POST /queues/{queue}/import"
  | "POST /queues/{queue}/hold"
  | "POST /queues/{queue}/unhold"
> = {
  "POST /queues/{queue}/items": async ({ engine, author }, { params, body }) => {
    const now = await engine.now();
    const items = body.items.map(
      ({ due, expires, ordering_key: orderingKey, ...item }): QueueItem =>
        compact({
          ...item,
          data: item.data as Json,
          dueAt: timeOf("due", due, now),
          expiresAt: timeOf("expires", expires, now),
          orderingKey,
        }),
    );
    const results = await addItems(engine, params.queue, items, { author });
    await recordAdded(engine, params.queue, results);
    return {
      results: results.map(({ outcome, itemId, reason }) => ({
        outcome,
        item_id: itemId ?? null,
        reason: reason ?? null,
      })),
    };
  },

  "POST /queues/{queue}/import": async ({ engine, author, stream, stopping }, { params, query }) => {
    const { format = "jsonl", key_field: key, envelope = false, dry_run: isDry = false } = query;
    const stdin = stream === null ? Readable.from([]) : Readable.fromWeb(stream as never);
    const problems: JsonObject[] = [];
    const { brokenOff, ...counts } = await importItems(engine, params.queue, "-", {
      ...{ author, format, isDry, isEnvelope: envelope, stdin, signal: stopping },
      fields: compact({ key }),
      onRefused: ({ line, reason }) => {
        if (problems.length < PROBLEMS_MAX) problems.push({ line, reason });
      },
    });
    return compact({ queue: params.queue, ...counts, dry_run: isDry, problems, broken_off: brokenOff });
  },

  "POST /queues/{queue}/hold": (context, { params, body }) => move(context, "hold", params.queue, body),
  "POST /queues/{queue}/unhold": (context, { params, body }) => move(context, "unhold", params.queue, body),
};

const PROBLEMS_MAX = 1000;

async function move(
  { engine, author }: RequestContext,
  how: "hold" | "unhold",
  queue: string,
  { ids, reason }: { readonly ids: readonly string[]; readonly reason?: string | undefined },
): Promise<JsonObject> {
  const { id } = await requireQueue(engine, queue);
  const { moved, refused } = await engine[how](id, [...new Set(ids)], { author, ...compact({ reason }) });
  return {
    queue: id,
    moved,
    refused: refused.map(({ itemId, state }) => ({ item_id: itemId, state: state ?? null })),
  };
}

function timeOf(field: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const at = parseTimeOption(text, now);
  if (at !== undefined) return at;
  throw new RedriveError("usage", `${field}: "${text}" is not ${TIME_OPTION_FORMS}.`);
}
