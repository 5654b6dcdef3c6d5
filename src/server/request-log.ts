/** The access log and the request metrics. Neither contains tokens, queries or bodies. */

import type { Histogram, Registry } from "prom-client";
import { randomName } from "../std/random.ts";

/** Receives one record for each request and each bug. */
export type RequestLog = (record: LogRecord) => void;

export interface LogRecord {
  readonly level: "info" | "error";
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A reference that links a client's report to a log record. */
export function referenceFor(): string {
  return `ref-${randomName(10)}`;
}

export interface ObservedRequest {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Request durations by route. The library is loaded on the first scrape; until then, durations are collected. */
export class RequestMetrics {
  #waiting: ObservedRequest[] = [];
  #registry: Registry | undefined;
  #histogram: Histogram | undefined;

  observe(request: ObservedRequest): void {
    if (this.#histogram === undefined) {
      if (this.#waiting.length < WAITING_MAX) this.#waiting.push(request);
      return;
    }
    const { route, method, status, seconds } = request;
    this.#histogram.observe({ route, method, status: String(status) }, seconds);
  }

  async text(): Promise<string> {
    if (this.#registry === undefined) {
      const { Histogram, Registry } = await import("prom-client");
      this.#registry = new Registry();
      this.#histogram = new Histogram({
        name: "redrive_http_request_duration_seconds",
        help: "How long requests took, by route, method and status.",
        labelNames: ["route", "method", "status"],
        buckets: BUCKETS,
        registers: [this.#registry],
      });
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const one of waiting) this.observe(one);
    }
    return this.#registry.metrics();
  }
}

/** How many requests are collected before the first scrape, which comes within seconds if there is a scraper. */
const WAITING_MAX = 10_000;
