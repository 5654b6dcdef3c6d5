/** The options of a worker. */
import * as z from "zod";
import type { HandlerAnswer } from "../retry/decide.ts";
import * as t from "../std/check-input.ts";
import type { LetterFailure } from "./letter.ts";
import type { Middleware } from "./middleware.ts";
import { middlewares } from "./queue-options.ts";
import type { WorkedItem } from "./reporter.ts";
import type { Duration, Rate, Shape } from "./values.ts";
import * as v from "./values.ts";

/** The options of `queue.work`. */
export interface WorkOptions<Data = unknown> {
  /** How many attempts run at the same time. Default 10. */
  readonly concurrency?: number;
  /** A rate limit of this worker, in addition to that of the queue. Default: no limit. */
  readonly rate?: Rate;
  /** Whether the worker ends when the queue is empty. Default false. */
  readonly untilEmpty?: boolean;
  /** The time limit of an attempt. Default: that of the queue. */
  readonly timeout?: Duration;
  /** Stops the worker when it is aborted. */
  readonly signal?: AbortSignal;
  /** The name of the worker, which is the author of its notes. Default: the machine, the process and the slot. */
  readonly name?: string;
  /**
   * Decides about an item that is out of retries: `handled` skips it, `retry` retries it, `dlq` turns it into
   * a letter.
   */
  readonly onItemFailure?: (
    item: WorkedItem<Data>,
    failure: LetterFailure,
  ) => HandlerAnswer | Promise<HandlerAnswer>;
  /** The folder for copies of evidence files. Default: only their digests are recorded. */
  readonly evidenceFolder?: string;
  /** How long a stop waits for handlers that ignore their signal. Default 5 s. */
  readonly abandonAfter?: Duration;
  /** Middleware around each attempt. It runs inside the middleware of the queue and the store. */
  readonly use?: readonly Middleware[];
}

/** The options of `queue.workBatch`. */
export interface BatchOptions<Data = unknown> extends WorkOptions<Data> {
  /** How many items a batch has at most. */
  readonly size: number;
  /** How long an incomplete batch waits for more items. Default 100 ms. */
  readonly wait?: Duration;
}

const WORK = {
  concurrency: t.wholeNumber(1, 100_000).optional(),
  rate: v.rate.optional(),
  untilEmpty: t.flag.optional(),
  timeout: v.durationFrom(1).optional(),
  signal: v.signal.optional(),
  name: t.name.optional(),
  onItemFailure: z
    .custom<NonNullable<WorkOptions["onItemFailure"]>>((value) => typeof value === "function", {
      error: "expected a function",
    })
    .optional(),
  evidenceFolder: t.name.optional(),
  abandonAfter: v.duration.optional(),
  use: middlewares.optional(),
};

export const workOptions = z.strictObject(WORK satisfies Shape<WorkOptions>);
export const batchOptions = z.strictObject({
  ...WORK,
  size: t.wholeNumber(1, 100_000),
  wait: v.duration.optional(),
} satisfies Shape<BatchOptions>);

export type ReadWorkOptions = Omit<z.output<typeof workOptions>, "concurrency" | "timeout">;
