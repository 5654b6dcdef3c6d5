/** Metrics in the Prometheus text format. The names are a contract: rules and dashboards use them. */
import type { Counter, Gauge, Registry } from "prom-client";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { ITEM_STATES } from "../item/state.ts";
import { type Metrics, type QueueMetrics, readMetrics } from "./metrics.ts";

export interface MetricsTextOptions {
  /** What the names begin with, with or without the underscore. Default `redrive`. */
  readonly prefix?: string;
}

/** Reads the store and writes the text. */
export async function metricsText(engine: Engine, options: MetricsTextOptions = {}): Promise<string> {
  const prefix = metricsPrefix(options.prefix ?? "redrive");
  return textOf(await readMetrics(engine), prefix);
}

/** The prefix with its underscore, or a usage error. */
export function metricsPrefix(prefix: string): string {
  if (/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(prefix)) return prefix.endsWith("_") ? prefix : `${prefix}_`;
  throw new WorkError("usage", `"${prefix}" cannot begin the name of a metric.`, {
    hint: "Write letters, digits and underscores, no digit first, for example redrive.",
  });
}

/** A registry of its own for each text: nothing of the process itself is told, and nothing is left of a queue that is gone. */
async function textOf(metrics: Metrics, prefix: string): Promise<string> {
  const client = await import("prom-client");
  const registers = [new client.Registry()];
  const writer = new Writer({
    gauge: (name, help, labelNames) =>
      new client.Gauge({ name: prefix + name, help, labelNames: [...labelNames], registers }),
    counter: (name, help, labelNames) =>
      new client.Counter({ name: prefix + name, help, labelNames: [...labelNames], registers }),
  });
  for (const [name, metric] of Object.entries(METRICS)) writer.write(name, metric, metrics);
  return (await (registers[0] as Registry).metrics()) + latencyText(metrics, prefix);
}

/** A histogram can only be observed by the library, and these were counted by the store. */
function latencyText(
  { receiptLatency: { buckets, count, sumSeconds }, receipts }: Metrics,
  prefix: string,
): string {
  if (Object.keys(receipts).length === 0) return "";
  const name = `${prefix}receipt_duration_seconds`;
  const edge = (le: number) => (le === Number.POSITIVE_INFINITY ? "+Inf" : String(le));
  return [
    `# HELP ${name} How long the tries to deliver a receipt took.`,
    `# TYPE ${name} histogram`,
    ...buckets.map(({ le, count: upTo }) => `${name}_bucket{le="${edge(le)}"} ${upTo}`),
    `${name}_sum ${sumSeconds}`,
    `${name}_count ${count}`,
    "",
  ].join("\n");
}

interface Makers {
  gauge(name: string, help: string, labels: readonly string[]): Gauge;
  counter(name: string, help: string, labels: readonly string[]): Counter;
}

class Writer {
  readonly #make: Makers;

  constructor(make: Makers) {
    this.#make = make;
  }

  write(name: string, { kind, help, labels, samples }: Metric, metrics: Metrics): void {
    if (kind === "gauge") {
      const gauge = this.#make.gauge(name, help, labels);
      for (const [values, value] of samples(metrics)) gauge.set(labelled(labels, values), value);
      return;
    }
    const counter = this.#make.counter(name, help, labels);
    for (const [values, value] of samples(metrics)) counter.inc(labelled(labels, values), value);
  }
}

function labelled(labels: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""]));
}

/** The values of the labels, and the number. */
type Sample = readonly [readonly string[], number];

interface Metric {
  readonly kind: "gauge" | "counter";
  readonly help: string;
  readonly labels: readonly string[];
  readonly samples: (metrics: Metrics) => readonly Sample[];
}

/** One number of each queue. */
const ofQueues =
  (value: (queue: QueueMetrics) => number) =>
  ({ queues }: Metrics): readonly Sample[] =>
    queues.map((queue) => [[queue.queue], value(queue)]);

/** One number of each target of receipts. */
const ofTargets =
  (value: (queue: QueueMetrics) => number) =>
  ({ queues }: Metrics): readonly Sample[] =>
    queues.filter(({ kind }) => kind === "target").map((queue) => [[queue.queue], value(queue)]);

/** The counters of each queue whose names begin so; the rest of the name is a label. Those that are named are there when they are 0. */
const ofCounters =
  (prefix: string, always: readonly string[] = []) =>
  ({ queues }: Metrics): readonly Sample[] =>
    queues.flatMap(({ queue, counters }) => {
      const found = Object.keys(counters)
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length));
      return [...new Set([...always, ...found])].map(
        (name): Sample => [[queue, name], counters[prefix + name] ?? 0],
      );
    });

const seconds = (ms: number | null) => (ms ?? 0) / 1000;
const BREAKER_STATES = ["closed", "half_open", "open"] as const;
const RECEIPT_DELIVERED = "delivered";

const METRICS: Readonly<Record<string, Metric>> = {
  items: {
    kind: "gauge",
    help: "Items of the queue in each state.",
    labels: ["queue", "state"],
    samples: ({ queues }) =>
      queues.flatMap(({ queue, counts }) =>
        ITEM_STATES.map((state): Sample => [[queue, state], counts[state]]),
      ),
  },
  dead_letter_queue_size: {
    kind: "gauge",
    help: "Letters that wait: dead, or sent again and not yet done.",
    labels: ["queue"],
    samples: ofQueues(({ counts }) => counts.letters),
  },
  dead_letter_oldest_age_seconds: {
    kind: "gauge",
    help: "Since the oldest of the waiting letters died; 0 when none waits.",
    labels: ["queue"],
    samples: ofQueues(({ oldestLetterMs }) => seconds(oldestLetterMs)),
  },
  dead_letters_total: {
    kind: "counter",
    help: "Burials by an attempt, by the type of the error.",
    labels: ["queue", "error_type"],
    samples: ofCounters("dead."),
  },
  dead_letters_removed_total: {
    kind: "counter",
    help: "Letters that were deleted: purged by a person or the retention rule, evicted by the capacity rule.",
    labels: ["queue", "why"],
    samples: ({ queues }) =>
      queues.flatMap(({ queue, counts }): readonly Sample[] => [
        [[queue, "purged"], counts.purged],
        [[queue, "evicted"], counts.evicted],
      ]),
  },
  attempts_total: {
    kind: "counter",
    help: "Ended attempts, by how they ended.",
    labels: ["queue", "outcome"],
    samples: ofCounters("attempts.", ["succeeded", "failed", "released", "lost"]),
  },
  retries_total: {
    kind: "counter",
    help: "Attempts that failed and were to be tried again.",
    labels: ["queue"],
    samples: ofQueues(({ counters }) => counters.retries ?? 0),
  },
  redrives_total: {
    kind: "counter",
    help: "Letters that were sent again and came to an end, by how.",
    labels: ["outcome"],
    samples: ({ redrives }) => [
      [["succeeded"], redrives.succeeded],
      [["failed"], redrives.failed],
    ],
  },
  receipts_total: {
    kind: "counter",
    help: "Tries to deliver a receipt, by what became of them.",
    labels: ["status", "success"],
    samples: ({ receipts }) =>
      Object.entries(receipts).map(
        ([status, count]): Sample => [[status, String(status === RECEIPT_DELIVERED)], count],
      ),
  },
  receipt_retries_total: {
    kind: "counter",
    help: "Deliveries of receipts that failed and were to be tried again.",
    labels: [],
    samples: ({ receiptRetries }) => [[[], receiptRetries]],
  },
  receipts_in_flight: {
    kind: "gauge",
    help: "Receipts that are on their way now.",
    labels: ["target"],
    samples: ofTargets(({ counts }) => counts.leased),
  },
  breaker_state: {
    kind: "gauge",
    help: "The circuit breaker of the queue: 0 closed, 1 half open, 2 open.",
    labels: ["name"],
    samples: ({ queues }) =>
      queues.flatMap(({ queue, breaker }): readonly Sample[] =>
        breaker === null ? [] : [[[queue], BREAKER_STATES.indexOf(breaker)]],
      ),
  },
  store_write_failures_total: {
    kind: "counter",
    help: "Times that a runner could not write the store.",
    labels: [],
    samples: ({ storeWriteFailures }) => [[[], storeWriteFailures]],
  },
  queue_paused: {
    kind: "gauge",
    help: "1 while nothing of the queue is leased because it is paused.",
    labels: ["queue"],
    samples: ofQueues(({ isPaused }) => (isPaused ? 1 : 0)),
  },
  workers: {
    kind: "gauge",
    help: "Processes that work the queue.",
    labels: ["queue"],
    samples: ofQueues(({ workers }) => workers),
  },
  oldest_ready_age_seconds: {
    kind: "gauge",
    help: "How long the item that waits longest has been due; 0 when none is.",
    labels: ["queue"],
    samples: ofQueues((queue) => seconds(queue.oldestReadyMs)),
  },
};
