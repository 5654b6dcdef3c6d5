/** The status of targets: the status of their queue, and where receipts are sent. Reads, never writes. */
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { type QueueSummary, queueToJson, settingsToJson, summariseQueue } from "../queue/queue-status.ts";
import type { JsonObject } from "../std/json.ts";
import { compact } from "../std/json.ts";
import { type DeliverySpec, targetSpecOf } from "./target-spec.ts";

/** One target in numbers. */
export interface TargetSummary extends QueueSummary {
  readonly delivery: DeliverySpec;
}

const PAGE_MAX = 1000;

/** Every target, by name. */
export async function listTargets(engine: Engine): Promise<readonly TargetSummary[]> {
  const jobs = await engine.listJobs({ limit: PAGE_MAX, kinds: ["target"] });
  const all: TargetSummary[] = [];
  for (const job of jobs) all.push(await summariseTarget(engine, job));
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** One of them. */
export async function summariseTarget(engine: Engine, job: Job): Promise<TargetSummary> {
  const { delivery, ...spec } = targetSpecOf(job);
  return { ...(await summariseQueue(engine, job)), spec, delivery };
}

/** The form of a target outside the process. */
export function targetToJson(target: TargetSummary): JsonObject {
  return { ...queueToJson(target), settings: settingsOf(target) };
}

function settingsOf({ spec, delivery }: TargetSummary): JsonObject {
  const {
    max_retries: retries,
    backoff,
    on_outage,
    max_outage_ms,
    breaker,
    rate_per_second,
    lease_ms,
    losses_max,
  } = settingsToJson(spec);
  const { protocol, url, tool, keyArgument, headers, token, timeoutMs } = delivery;
  return compact({
    protocol,
    url: url === undefined ? undefined : addressOf(url),
    tool: protocol === "mcp" ? tool : undefined,
    key_argument: protocol === "mcp" ? (keyArgument ?? null) : undefined,
    headers: { ...headers },
    token: token === undefined ? null : { ...token },
    timeout_ms: timeoutMs,
    answer_bytes_max: delivery.answerBytesMax,
    id_header: delivery.idHeader,
    order_field: delivery.orderField ?? null,
    retries,
    backoff,
    on_outage,
    max_outage_ms,
    breaker,
    rate_per_second,
    lease_ms,
    losses_max,
  }) as JsonObject;
}

/** What comes after the `?` may be a secret: it is not shown. */
export function addressOf(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === "" ? "" : "?…"}`;
}
