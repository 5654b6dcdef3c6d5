/** Handlers of the routes with statistics on letters. */
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { requireJob } from "../../queue/find-job.ts";
import { readCommonFields } from "../../redrive/common-fields.ts";
import { requireLiveGroup } from "../../redrive/groups.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { parseDuration } from "../../std/duration.ts";
import type { Handler } from "../context.ts";
import type { trendRoutes } from "../contract/trends.ts";

type Routes = typeof trendRoutes;

const MINUTE_MS = 60_000;
const BUCKETS_MAX = 1000;

export const trendHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /arrivals": async ({ engine }, { query }) => {
    const { job, queue = job, group, bucket = "1h", newer_than: back = "24h" } = query;
    const bucketMs = parseDuration(bucket, "bucket");
    const counts = await countArrivals(engine, {
      ...(queue !== undefined && { queue: (await requireJob(engine, queue)).id }),
      ...(group !== undefined && { signature: group }),
      bucketMs,
      spanMs: parseDuration(back, "newer_than"),
    });
    return { since: toRfc3339(counts.since), bucket_ms: bucketMs, counts: counts.counts };
  },

  "GET /groups/{group}/fields": async ({ engine, redactor }, { params }) => {
    const { signature } = await requireLiveGroup(engine, params.group);
    return readCommonFields(engine, signature, redactor?.data);
  },
};

interface ArrivalRequest {
  readonly queue?: string;
  readonly signature?: string;
  readonly bucketMs: number;
  readonly spanMs: number;
}

/** Returns a count for every interval, including those without letters, so that a chart needs no times. */
export async function countArrivals(
  engine: Engine,
  { queue, signature, bucketMs, spanMs }: ArrivalRequest,
): Promise<{ readonly since: number; readonly counts: readonly number[] }> {
  const buckets = Math.ceil(spanMs / bucketMs);
  if (bucketMs < MINUTE_MS || bucketMs % MINUTE_MS !== 0 || buckets > BUCKETS_MAX) {
    const message = `An interval must be whole minutes, and there can be at most ${BUCKETS_MAX} intervals.`;
    throw new RedriveError("usage", message, { hint: "For example: bucket=1h and newer_than=24h." });
  }
  const last = Math.floor((await engine.now()) / bucketMs) * bucketMs;
  const since = last - (buckets - 1) * bucketMs;
  const counts = Array.from({ length: buckets }, () => 0);
  const arrivals = await engine.listArrivals({
    bucketMs,
    since,
    ...(queue !== undefined && { queue }),
    ...(signature !== undefined && { signatures: [signature] }),
  });
  for (const { at, ever } of arrivals) {
    const index = (at - since) / bucketMs;
    if (index >= 0 && index < buckets) counts[index] = ever;
  }
  return { since, counts };
}
