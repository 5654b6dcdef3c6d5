/** The summary counts of all queues, jobs and targets, and the processing rates while the page is open. */
import { useQuery } from "@tanstack/react-query";
import type { LinkProps } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call } from "./api.ts";
import type { Series } from "./series.ts";

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

/** Readings are kept this far apart, for so long. */
const STEP_MS = 10_000;
const STEPS_MAX = 60;
const samples: Sample[] = [];

export interface Rates {
  /** Items finished per minute in all queues between the last two samples; undefined until there are two. */
  readonly perMinute: number | undefined;
  /** The average rate of one queue since the first sample; undefined until there are two samples. */
  of(queue: string): number | undefined;
  /** Items that ended in each interval, in all queues or in one; null after the first reading. */
  series(queue?: string): Series | null;
}

/** Measures how many items finish per minute while the page is open. */
export function useRates(summary: Summary | undefined): Rates {
  const [, setCount] = useState(0);
  useEffect(() => {
    if (summary === undefined) return;
    const at = Date.parse(summary.at);
    if (samples.at(-1)?.at === at) return;
    // Events cause readings every second, of which only the latest is of interest until the step is over.
    if (samples.length > 1 && at - (samples.at(-2)?.at ?? 0) < STEP_MS) samples.pop();
    samples.push({ at, ended: new Map(summary.queues.map((queue) => [queue.queue, endedOf(queue)])) });
    if (samples.length > STEPS_MAX) samples.shift();
    setCount((count) => count + 1);
  }, [summary]);
  return {
    perMinute: perMinute(samples.at(-2), samples.at(-1), total),
    of: (queue) => perMinute(samples[0], samples.at(-1), countOf(queue)),
    series: (queue) => seriesBetween(queue === undefined ? total : countOf(queue)),
  };
}

type Read = (sample: Sample) => number;

function endedOf({ items }: QueueSummary): number {
  return items.done + items.dead;
}

function total({ ended }: Sample): number {
  return [...ended.values()].reduce((sum, count) => sum + count, 0);
}

function countOf(queue: string): Read {
  return ({ ended }) => ended.get(queue) ?? 0;
}

function perMinute(before: Sample | undefined, after: Sample | undefined, read: Read): number | undefined {
  if (before === undefined || after === undefined || after.at <= before.at) return undefined;
  return Math.max(0, ((read(after) - read(before)) / (after.at - before.at)) * 60_000);
}

/** Readings are not exactly one step apart, so what ended between two of them is spread evenly. */
function seriesBetween(read: Read): Series | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || first === last) return null;
  const steps = Math.max(1, Math.round((last.at - first.at) / STEP_MS));
  const stepMs = (last.at - first.at) / steps;
  const marks = Array.from({ length: steps + 1 }, (_, index) => endedAt(first.at + index * stepMs, read));
  const counts = marks.slice(1).map((mark, index) => Math.max(0, Math.round(mark - (marks[index] ?? 0))));
  return { counts, since: first.at, stepMs };
}

function endedAt(at: number, read: Read): number {
  const next = Math.max(
    1,
    samples.findIndex((sample) => sample.at >= at),
  );
  const [before, after] = [samples[next - 1], samples[next]];
  if (before === undefined || after === undefined) return 0;
  const share = (at - before.at) / (after.at - before.at);
  return read(before) + (read(after) - read(before)) * Math.min(1, Math.max(0, share));
}
