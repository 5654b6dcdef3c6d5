/** Writes metrics in the Prometheus text format. The names are stable, because alert rules and dashboards use them. */
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { AgentUsage } from "../item/agent-usage.ts";
import { ITEM_STATES } from "../item/state.ts";
import { type Metrics, type QueueMetrics, readMetrics } from "./metrics.ts";

/** The options for `metricsText`. */
export interface MetricsTextOptions {
  /** The prefix of the metric names, with or without the trailing underscore. Default `redrive`. */
  readonly prefix?: string;
}

/** Reads the metrics from the store and returns them in the Prometheus text format. */
export async function metricsText(engine: Engine, options: MetricsTextOptions = {}): Promise<string> {
  const prefix = metricsPrefix(options.prefix ?? "redrive");
  return textOf(await readMetrics(engine), prefix);
}

/** Returns the prefix with its underscore. Throws a `usage` error if it is invalid. */
export function metricsPrefix(prefix: string): string {
  if (/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(prefix)) return prefix.endsWith("_") ? prefix : `${prefix}_`;
  throw new RedriveError("usage", `"${prefix}" is not a valid prefix for metric names.`, {
    hint: "Use letters, digits and underscores, not starting with a digit, for example redrive.",
  });
}

/** Uses a new registry for each text, so that it contains no metrics of the process or of deleted queues. */
async function textOf(metrics: Metrics, prefix: string): Promise<string> {
  const { Registry, Gauge, Counter } = await import("prom-client");
  const registry = new Registry();
  for (const [name, { kind, help, labels, samples }] of Object.entries(METRICS)) {
    const options = { name: prefix + name, help, labelNames: [...labels], registers: [registry] };
    const [gauge, counter] = kind === "gauge" ? [new Gauge(options)] : [null, new Counter(options)];
    for (const [values, value] of samples(metrics)) {
      const labelled = Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""]));
      gauge?.set(labelled, value);
      counter?.inc(labelled, value);
    }
  }
  return (await registry.metrics()) + latencyText(metrics, prefix);
}

/** Formatted here, because the library can only observe histograms, but the store has already counted these. */
function latencyText({ receiptLatency: { buckets, count, sumSeconds }, receipts }: Metrics, prefix: string) {
  if (Object.keys(receipts).length === 0) return "";
  const name = `${prefix}receipt_duration_seconds`;
  const edge = (le: number) => (le === Number.POSITIVE_INFINITY ? "+Inf" : String(le));
  return [
    `# HELP ${name} The duration of receipt delivery attempts.`,
    `# TYPE ${name} histogram`,
    ...buckets.map(({ le, count: upTo }) => `${name}_bucket{le="${edge(le)}"} ${upTo}`),
    `${name}_sum ${sumSeconds}`,
    `${name}_count ${count}`,
    "",
  ].join("\n");
}

type Sample = readonly [readonly string[], number];

interface Metric {
  readonly kind: "gauge" | "counter";
  readonly help: string;
  readonly labels: readonly string[];
  readonly samples: (metrics: Metrics) => readonly Sample[];
}

const ofQueues =
  (value: (queue: QueueMetrics) => number) =>
  ({ queues }: Metrics): readonly Sample[] =>
    queues.map((queue) => [[queue.queue], value(queue)]);

const ofAgents =
  (value: (usage: AgentUsage) => number) =>
  ({ queues }: Metrics): readonly Sample[] =>
    queues.flatMap(({ queue, usage }): readonly Sample[] => (usage ? [[[queue], value(usage)]] : []));

const ofTargets =
  (value: (queue: QueueMetrics) => number) =>
  ({ queues }: Metrics): readonly Sample[] =>
    queues.filter(({ kind }) => kind === "target").map((queue) => [[queue.queue], value(queue)]);

/** Samples the counters with this prefix. The rest of the name is a label. Names in `always` are included even if 0. */
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

type Samples = Metric["samples"];

function gauge(help: string, labels: readonly string[], samples: Samples): Metric {
  return { kind: "gauge", help, labels, samples };
}

function counter(help: string, labels: readonly string[], samples: Samples): Metric {
  return { kind: "counter", help, labels, samples };
}

const METRICS: Readonly<Record<string, Metric>> = {
  items: gauge("Items of the queue in each state.", ["queue", "state"], ({ queues }) =>
    queues.flatMap(({ queue, counts }) =>
      ITEM_STATES.map((state): Sample => [[queue, state], counts[state]]),
    ),
  ),
  dead_letter_queue_size: gauge(
    "Waiting letters: dead, or being redriven.",
    ["queue"],
    ofQueues(({ counts }) => counts.letters),
  ),
  dead_letter_oldest_age_seconds: gauge(
    "The time since the oldest waiting letter failed; 0 if no letter is waiting.",
    ["queue"],
    ofQueues(({ oldestLetterMs }) => seconds(oldestLetterMs)),
  ),
  dead_letters_total: counter(
    "Letters written, by error type.",
    ["queue", "error_type"],
    ofCounters("dead."),
  ),
  dead_letters_removed_total: counter(
    "Deleted letters: purged by a person or by retention, evicted by the size limit.",
    ["queue", "why"],
    ({ queues }) =>
      queues.flatMap(({ queue, counts }): readonly Sample[] => [
        [[queue, "purged"], counts.purged],
        [[queue, "evicted"], counts.evicted],
      ]),
  ),
  attempts_total: counter(
    "Ended attempts, by outcome.",
    ["queue", "outcome"],
    ofCounters("attempts.", ["succeeded", "failed", "released", "lost"]),
  ),
  agent_cost_usd_total: counter(
    "What agents reported to have cost, in dollars.",
    ["queue"],
    ofAgents(({ costUsd = 0 }) => costUsd),
  ),
  agent_tokens_total: counter("The tokens of agents.", ["queue", "direction"], ({ queues }) =>
    queues.flatMap(({ queue, usage }): readonly Sample[] =>
      usage === undefined
        ? []
        : [
            [[queue, "input"], usage.inputTokens ?? 0],
            [[queue, "output"], usage.outputTokens ?? 0],
          ],
    ),
  ),
  agent_turns_total: counter(
    "The model calls of agents.",
    ["queue"],
    ofAgents(({ turns = 0 }) => turns),
  ),
  retries_total: counter(
    "Failed attempts that were retried.",
    ["queue"],
    ofQueues(({ counters }) => counters.retries ?? 0),
  ),
  redrives_total: counter(
    "Redriven letters whose redrive has ended, by outcome.",
    ["outcome"],
    ({ redrives }) => [
      [["succeeded"], redrives.succeeded],
      [["failed"], redrives.failed],
    ],
  ),
  receipts_total: counter("Receipt delivery attempts, by status.", ["status", "success"], ({ receipts }) =>
    Object.entries(receipts).map(
      ([status, count]): Sample => [[status, String(status === RECEIPT_DELIVERED)], count],
    ),
  ),
  receipt_retries_total: counter("Failed receipt deliveries that were retried.", [], ({ receiptRetries }) => [
    [[], receiptRetries],
  ]),
  receipts_in_flight: gauge(
    "Receipts being sent now.",
    ["target"],
    ofTargets(({ counts }) => counts.leased),
  ),
  breaker_state: gauge(
    "The circuit breaker of the queue: 0 closed, 1 half open, 2 open.",
    ["name"],
    ({ queues }) =>
      queues.flatMap(({ queue, breaker }): readonly Sample[] =>
        breaker === null ? [] : [[[queue], BREAKER_STATES.indexOf(breaker)]],
      ),
  ),
  store_write_failures_total: counter("Failed store writes of runners.", [], ({ storeWriteFailures }) => [
    [[], storeWriteFailures],
  ]),
  queue_paused: gauge(
    "1 while the queue is paused.",
    ["queue"],
    ofQueues(({ isPaused }) => (isPaused ? 1 : 0)),
  ),
  workers: gauge(
    "Processes that work on the queue.",
    ["queue"],
    ofQueues(({ workers }) => workers),
  ),
  oldest_ready_age_seconds: gauge(
    "How long the longest-waiting item has been due; 0 if none is due.",
    ["queue"],
    ofQueues((queue) => seconds(queue.oldestReadyMs)),
  ),
};
