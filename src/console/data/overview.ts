/** The summary counts of all queues, jobs and targets, and the processing rates while the page is open. */
import { useQuery } from "@tanstack/react-query";
import type { LinkProps } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call } from "./api.ts";

/** One queue, job or target in the overview. */
export interface QueueSummary {
  readonly queue: string;
  readonly name: string;
  readonly kind: "queue" | "target" | "map" | "workflow";
  readonly items: Readonly<Record<"ready" | "leased" | "held" | "done" | "dead", number>>;
  readonly oldest_ready_seconds: number | null;
  readonly is_paused: boolean;
  readonly workers: number;
  readonly breaker: string | null;
  readonly counters: Readonly<Record<string, number>>;
}

interface Summary {
  readonly at: string;
  readonly queues: readonly QueueSummary[];
  readonly store_write_failures: number;
}

const POLL_MS = 10_000;

export function useOverview({ polls = false } = {}) {
  return useQuery({
    queryKey: ["overview"],
    queryFn: async ({ signal }) => (await call("GET /overview", {}, { signal })) as unknown as Summary,
    refetchInterval: polls && POLL_MS,
  });
}

/** The queue, target or job with this id. Undefined until the overview has been loaded. */
export function useQueueSummary(queue: string): QueueSummary | undefined {
  return useOverview().data?.queues.find((one) => one.queue === queue);
}

export function isStanding({ kind }: QueueSummary): boolean {
  return kind === "queue" || kind === "target";
}

/** The page of a queue, a target or a job. */
export function linkOf({ queue, kind }: Pick<QueueSummary, "queue" | "kind">): LinkProps {
  if (kind === "queue") return { to: "/queues/$name", params: { name: queue } };
  return kind === "target"
    ? { to: "/receipts/$target", params: { target: queue } }
    : { to: "/jobs/$id", params: { id: queue } };
}

/** Sums a count over all queues. */
export function sumOf(queues: readonly QueueSummary[], read: (queue: QueueSummary) => number): number {
  return queues.reduce((sum, queue) => sum + read(queue), 0);
}

interface Sample {
  readonly at: number;
  /** How many items of each queue have ended. */
  readonly ended: ReadonlyMap<string, number>;
}

const SAMPLES_MAX = 60;
const samples: Sample[] = [];

export interface Rates {
  /**
   * Items finished per minute in all queues, one rate for each interval between two samples, oldest first.
   */
  readonly all: readonly number[];
  /** The average rate of one queue since the first sample; undefined until there are two samples. */
  of(queue: string): number | undefined;
}

/** Measures how many items finish per minute while the page is open. */
export function useRates(summary: Summary | undefined): Rates {
  const [, setCount] = useState(0);
  useEffect(() => {
    if (summary === undefined) return;
    const at = Date.parse(summary.at);
    if (samples.at(-1)?.at === at) return;
    samples.push({ at, ended: new Map(summary.queues.map((queue) => [queue.queue, endedOf(queue)])) });
    if (samples.length > SAMPLES_MAX) samples.shift();
    setCount((count) => count + 1);
  }, [summary]);
  return {
    all: samples.slice(1).map((after, index) => perMinute(samples[index], after, total)),
    of: (queue) =>
      samples.length > 1
        ? perMinute(samples[0], samples.at(-1), ({ ended }) => ended.get(queue) ?? 0)
        : undefined,
  };
}

function endedOf({ items }: QueueSummary): number {
  return items.done + items.dead;
}

function total({ ended }: Sample): number {
  return [...ended.values()].reduce((sum, count) => sum + count, 0);
}

function perMinute(
  before: Sample | undefined,
  after: Sample | undefined,
  read: (sample: Sample) => number,
): number {
  if (before === undefined || after === undefined || after.at <= before.at) return 0;
  return Math.max(0, ((read(after) - read(before)) / (after.at - before.at)) * 60_000);
}
