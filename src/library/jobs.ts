/** Functions for library callers that run jobs and read their results, with argument checks. */
import { readItems as readItemsUnchecked } from "../intake/read-items.ts";
import { followErrors as followUnchecked, readErrors as readErrorsUnchecked } from "../queue/error-log.ts";
import { requireJob as requireUnchecked } from "../queue/find-job.ts";
import { statusOf as statusUnchecked, summarise as summariseUnchecked } from "../queue/job-summary.ts";
import { parseBackoff as parseUnchecked } from "../retry/backoff.ts";
import { startMap as startUnchecked } from "../run/map.ts";
import { resumeJob as resumeUnchecked } from "../run/resume.ts";
import {
  continueRedrive as continueUnchecked,
  detachLetters as detachUnchecked,
  retryLetters as retryUnchecked,
} from "../run/retry.ts";
import type { RunDeps as UncheckedDeps } from "../run/run-job.ts";
import type { RunOptions, RunResult } from "../runner/run-options.ts";
import { runQueue as runUnchecked } from "../runner/runner.ts";
import { readMetrics as readMetricsUnchecked } from "../service/metrics.ts";
import { metricsText as metricsTextUnchecked } from "../service/metrics-text.ts";
import { checked, checkedNow } from "./checked.ts";
import { checkedHandler } from "./checked-handler.ts";
import { callback, job, objectOf, operation, store, text } from "./common-schemas.ts";
import {
  errorLogQuery,
  followOptions,
  inputSource,
  mapOptions,
  metricsTextOptions,
  readOptions,
  resumeOptions,
  retryOptions,
  runDeps,
  runOptions,
} from "./job-schemas.ts";
import { limitsOfJob } from "./letter-limits.ts";
import type { RunDeps } from "./options.ts";

/** Adds the enforcement of letter limits to a run. */
function withLimits<Rest extends readonly unknown[], Result>(
  call: (deps: UncheckedDeps, ...rest: Rest) => Promise<Result>,
): (deps: RunDeps, ...rest: Rest) => Promise<Result> {
  return ({ limits, services = [], ...deps }, ...rest) =>
    call({ ...deps, services: [limitsOfJob(limits), ...services] }, ...rest);
}

/** Creates a job, or resumes the one with the same name, and runs it to the end. */
export const startMap = checked(withLimits(startUnchecked), "startMap", [
  ["deps", runDeps],
  ["options", mapOptions],
]);

/** Resumes a job: finishes pending items, and retries eligible letters if requested. */
export const resumeJob = checked(withLimits(resumeUnchecked), "resumeJob", [
  ["deps", runDeps],
  ["options", resumeOptions],
]);

/** Retries letters and waits until they have finished. */
export const retryLetters = checked(withLimits(retryUnchecked), "retryLetters", [
  ["deps", runDeps],
  ["options", retryOptions],
]);

/** Redrives letters for a worker to run. */
export const detachLetters = checked(detachUnchecked, "detachLetters", [
  ["engine", store],
  ["options", retryOptions],
]);

/** Resumes a redrive. */
export const continueRedrive = checked(withLimits(continueUnchecked), "continueRedrive", [
  ["deps", runDeps],
  ["operation", operation],
  [
    "options",
    objectOf<{ onOperation?: unknown; onNotice?: unknown }>({
      onOperation: callback.optional(),
      onNotice: callback.optional(),
    }).optional(),
  ],
]);

/** Runs a queue until it is empty or the signal aborts. */
export const runQueue = checked(runWithHandler, "runQueue", [["options", runOptions]]);

function runWithHandler(options: RunOptions): Promise<RunResult> {
  return runUnchecked({ ...options, handler: checkedHandler(options.handler) });
}

/** Reads an input as items, in batches. */
export const readItems = checkedNow(readItemsUnchecked, "readItems", [
  ["source", inputSource],
  ["options", readOptions.optional()],
]);

/** Finds a job by its id, its name or the beginning of its id; throws `job_not_found`. */
export const requireJob = checked(requireUnchecked, "requireJob", [
  ["engine", store],
  ["idOrName", text],
]);

/** The current totals of a job. */
export const summarise = checked(summariseUnchecked, "summarise", [
  ["engine", store],
  ["job", job],
]);

/** The status of a job. If its runner has died, the status is `interrupted`. */
export const statusOf = checked(statusUnchecked, "statusOf", [
  ["engine", store],
  ["job", job],
]);

/** Parses a backoff in the syntax of the command line, e.g. `fixed:5s`. */
export const parseBackoff = checkedNow(parseUnchecked, "parseBackoff", [["text", text]]);

/** A page of the error log, newest first. */
export const readErrors = checked(readErrorsUnchecked, "readErrors", [
  ["engine", store],
  ["query", errorLogQuery],
]);

/** Follows the error log as new entries arrive. */
export const followErrors = checkedNow(followUnchecked, "followErrors", [
  ["engine", store],
  ["query", errorLogQuery],
  ["options", followOptions],
]);

/** The metrics of a store. */
export const readMetrics = checked(readMetricsUnchecked, "readMetrics", [["engine", store]]);

/** The metrics of a store in the text format of Prometheus. */
export const metricsText = checked(metricsTextUnchecked, "metricsText", [
  ["engine", store],
  ["options", metricsTextOptions.optional()],
]);
