/** The counters of a receipt target (results and latencies of attempts), and the idempotency key of a receipt. */
import type { Item } from "./item.ts";

/** The result of one attempt to deliver a receipt. */
export const RECEIPT_STATUSES = [
  "delivered", // also when the receiver already had it
  "refused", // rejected permanently by the receiver
  "auth", // not authorized: the target is paused and keeps its receipts
  "throttled", // the receiver asked to wait or to slow down
  "server_error",
  "transport_error", // the receiver was not reached, so the receipt was not sent
  "unknown", // the receipt was sent, but no valid response arrived
] as const;
/** One of `RECEIPT_STATUSES`. */
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

const STATUS = "receipt.";
const BUCKET = "receipt_seconds.le.";
const SUM = "receipt_ms.";

/** The upper bounds of the latency buckets; the last bucket has none. */
export const LATENCY_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** Counters only increase by one, so the sum of latencies is stored as one counter per binary digit of the milliseconds. */
const SUM_MS_MAX = 2 ** 22 - 1;

/** Returns the counters to increment for one attempt. */
export function receiptCounts(status: ReceiptStatus, durationMs: number): readonly string[] {
  const ms = Math.min(SUM_MS_MAX, Math.max(0, Math.round(durationMs)));
  const bucket = LATENCY_BUCKETS_SECONDS.find((seconds) => ms <= seconds * 1000) ?? "inf";
  const names = [`${STATUS}${status}`, `${BUCKET}${bucket}`];
  for (let digit = 1; digit <= ms; digit *= 2)
    if (Math.floor(ms / digit) % 2 === 1) names.push(`${SUM}${digit}`);
  return names;
}

export interface ReceiptLatency {
  readonly count: number;
  readonly sumSeconds: number;
  /** Cumulative counts, as Prometheus requires; the last one counts all attempts. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
}

/** Reads the latency from the counters of one or more targets. */
export function receiptLatencyOf(
  counters: readonly { readonly name: string; readonly value: number }[],
): ReceiptLatency {
  const inBucket = new Map<string, number>();
  let sumMs = 0;
  for (const { name, value } of counters) {
    if (name.startsWith(SUM)) sumMs += Number(name.slice(SUM.length)) * value;
    if (!name.startsWith(BUCKET)) continue;
    const bucket = name.slice(BUCKET.length);
    inBucket.set(bucket, (inBucket.get(bucket) ?? 0) + value);
  }
  let count = 0;
  const buckets = [...LATENCY_BUCKETS_SECONDS, Number.POSITIVE_INFINITY].map((le) => {
    count += inBucket.get(le === Number.POSITIVE_INFINITY ? "inf" : String(le)) ?? 0;
    return { le, count };
  });
  return { count, sumSeconds: sumMs / 1000, buckets };
}

/**
 * Returns the same key for every attempt. Amended data gets a new key, because the receiver would otherwise
 * treat it as a duplicate.
 */
export function receiptKeyOf({ itemId, revision }: Pick<Item, "itemId" | "revision">): string {
  return revision <= 1 ? itemId : `${itemId}.r${revision}`;
}
