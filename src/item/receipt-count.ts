/**
 * What became of the tries to deliver receipts, as the counters of their target: one for each status, and how long the
 * tries took. Written with the settlement of each try and read by metrics, so that both use the same names.
 */

/** What one try to deliver a receipt came to. */
export const RECEIPT_STATUSES = [
  "delivered", // also: the other side had it already
  "refused", // by the other side, for good
  "auth", // the other side does not know us: the target is paused, and its receipts stay
  "throttled", // the other side said when to come back, or that we come too often
  "server_error",
  "transport_error", // the other side was not reached: the receipt was not sent
  "unknown", // it was sent, and no answer that can be understood came back
] as const;
/** One of `RECEIPT_STATUSES`. */
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

const STATUS = "receipt.";
const BUCKET = "receipt_seconds.le.";
const SUM = "receipt_ms.";

/** The upper ends of the stretches that tries are sorted into by how long they took; the last one has none. */
export const LATENCY_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** A counter goes up by one at a time, so the sum is kept by the binary digits of the milliseconds. */
const SUM_MS_MAX = 2 ** 22 - 1;

/** The counters that go up with one try. */
export function receiptCounts(status: ReceiptStatus, durationMs: number): readonly string[] {
  const ms = Math.min(SUM_MS_MAX, Math.max(0, Math.round(durationMs)));
  const bucket = LATENCY_BUCKETS_SECONDS.find((seconds) => ms <= seconds * 1000) ?? "inf";
  const names = [`${STATUS}${status}`, `${BUCKET}${bucket}`];
  for (let digit = 1; digit <= ms; digit *= 2)
    if (Math.floor(ms / digit) % 2 === 1) names.push(`${SUM}${digit}`);
  return names;
}

/** How long the tries took, all together. */
export interface ReceiptLatency {
  readonly count: number;
  readonly sumSeconds: number;
  /** How many took at most so long, each with those before it, as Prometheus wants them; the last one is all of them. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
}

/** Reads it back from counters, those of one target or of several. */
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
