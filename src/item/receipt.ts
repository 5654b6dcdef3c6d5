/** The counters of a target: results and latencies of attempts. Also the idempotency key of a receipt. */
import type { Item } from "./item.ts";

/** The result of one attempt to deliver a receipt. */
export const RECEIPT_STATUSES = [
  "delivered", // or the receiver had it already
  "refused", // permanently, by the receiver
  "auth", // not authorised: the target is paused and keeps its receipts
  "throttled", // the receiver asked to wait or to slow down
  "server_error",
  "transport_error", // the receiver was not reached, so the receipt was not sent
  "unknown", // it was sent, but no valid answer came back
] as const;
/** One of `RECEIPT_STATUSES`. */
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

const STATUS = "receipt.";
const BUCKET = "receipt_seconds.le.";
const SUM = "receipt_ms.";

/** The upper bounds of the latency buckets; the last bucket has none. */
export const LATENCY_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** A counter increases by one at a time, so the sum is kept by the binary digits of the milliseconds. */
const SUM_MS_MAX = 2 ** 22 - 1;

/** The counters to increment for one attempt. */
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
  /** Cumulative, as Prometheus needs them; the last one counts all attempts. */
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

/** The same for every attempt. Amended data gets another key, or the receiver would take it for the old receipt. */
export function receiptKeyOf({ itemId, revision }: Pick<Item, "itemId" | "revision">): string {
  return revision <= 1 ? itemId : `${itemId}.r${revision}`;
}
