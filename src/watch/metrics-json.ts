/** The numbers of a store as JSON, in the words that leave the process. */
import { toRfc3339 } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import type { Metrics, QueueMetrics } from "./metrics.ts";

export function metricsToJson(metrics: Metrics): JsonObject {
  return {
    at: toRfc3339(metrics.at),
    queues: metrics.queues.map(queueToJson),
    redrives: { ...metrics.redrives },
    receipts: { ...metrics.receipts },
    receipt_retries: metrics.receiptRetries,
    receipt_duration_seconds: {
      count: metrics.receiptLatency.count,
      sum: metrics.receiptLatency.sumSeconds,
    },
    store_write_failures: metrics.storeWriteFailures,
  };
}

function queueToJson(queue: QueueMetrics): JsonObject {
  const { ready, leased, held, done, dead, skipped, discarded } = queue.counts;
  const { letters, purged, evicted } = queue.counts;
  return {
    queue: queue.queue,
    name: queue.name,
    kind: queue.kind,
    items: { ready, leased, held, done, dead, skipped, discarded },
    dead_letters: letters,
    dead_letters_purged: purged,
    dead_letters_evicted: evicted,
    oldest_letter_seconds: seconds(queue.oldestLetterMs),
    oldest_ready_seconds: seconds(queue.oldestReadyMs),
    is_paused: queue.isPaused,
    workers: queue.workers,
    breaker: queue.breaker,
    counters: { ...queue.counters },
  };
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
