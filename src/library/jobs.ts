/** Functions that run jobs and read what they left, for programs. Arguments are checked before anything is done. */
import { readItems as readItemsUnchecked } from "../intake/read-items.ts";
import { requireJob as requireUnchecked } from "../job/find-job.ts";
import { startMap as startUnchecked } from "../job/map.ts";
import { resumeJob as resumeUnchecked } from "../job/resume.ts";
import {
  continueRedrive as continueUnchecked,
  detachLetters as detachUnchecked,
  retryLetters as retryUnchecked,
} from "../job/retry.ts";
import type { RunDeps as UncheckedDeps } from "../job/run-job.ts";
import { statusOf as statusUnchecked, summarise as summariseUnchecked } from "../job/summary.ts";
import { parseBackoff as parseUnchecked } from "../retry/backoff.ts";
import type { RunOptions, RunResult } from "../runner/run-options.ts";
import { runQueue as runUnchecked } from "../runner/runner.ts";
import { followErrors as followUnchecked, readErrors as readErrorsUnchecked } from "../watch/error-log.ts";
import { readMetrics as readMetricsUnchecked } from "../watch/metrics.ts";
import { metricsText as metricsTextUnchecked } from "../watch/metrics-text.ts";
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

/** The same work with the limits kept beside it. */
function withLimits<Rest extends readonly unknown[], Result>(
  call: (deps: UncheckedDeps, ...rest: Rest) => Promise<Result>,
): (deps: RunDeps, ...rest: Rest) => Promise<Result> {
  return ({ limits, companions = [], ...deps }, ...rest) =>
    call({ ...deps, companions: [limitsOfJob(limits), ...companions] }, ...rest);
}

/** Makes the job or goes on with the one of that name, and runs it to its end. */
export const startMap = checked(withLimits(startUnchecked), "startMap", [
  ["deps", runDeps],
  ["options", mapOptions],
]);

/** Resumes a job: finishes pending items, and retries eligible letters if told so. */
export const resumeJob = checked(withLimits(resumeUnchecked), "resumeJob", [
  ["deps", runDeps],
  ["options", resumeOptions],
]);

/** Runs letters again and waits for the end. */
export const retryLetters = checked(withLimits(retryUnchecked), "retryLetters", [
  ["deps", runDeps],
  ["options", retryOptions],
]);

/** Sends letters back to work, for a worker to run them. */
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

/** Works a queue until it is empty or is told to end. */
export const runQueue = checked(runWithHandler, "runQueue", [["options", runOptions]]);

function runWithHandler(options: RunOptions): Promise<RunResult> {
  return runUnchecked({ ...options, handler: checkedHandler(options.handler) });
}

/** Reads an input as items, in batches. */
export const readItems = checkedNow(readItemsUnchecked, "readItems", [
  ["source", inputSource],
  ["options", readOptions.optional()],
]);

/** The job of that id, name or beginning of an id; `job_not_found` when there is none. */
export const requireJob = checked(requireUnchecked, "requireJob", [
  ["engine", store],
  ["idOrName", text],
]);

/** How a job stands. */
export const summarise = checked(summariseUnchecked, "summarise", [
  ["engine", store],
  ["job", job],
]);

/** The status of a job; one whose runner vanished is interrupted. */
export const statusOf = checked(statusUnchecked, "statusOf", [
  ["engine", store],
  ["job", job],
]);

/** A backoff in the form of the command line, e.g. `fixed:5s`. */
export const parseBackoff = checkedNow(parseUnchecked, "parseBackoff", [["text", text]]);

/** A page of the error log, newest first. */
export const readErrors = checked(readErrorsUnchecked, "readErrors", [
  ["engine", store],
  ["query", errorLogQuery],
]);

/** The error log as it grows. */
export const followErrors = checkedNow(followUnchecked, "followErrors", [
  ["engine", store],
  ["query", errorLogQuery],
  ["options", followOptions],
]);

/** The numbers of a store. */
export const readMetrics = checked(readMetricsUnchecked, "readMetrics", [["engine", store]]);

/** The same in the text format of Prometheus. */
export const metricsText = checked(metricsTextUnchecked, "metricsText", [
  ["engine", store],
  ["options", metricsTextOptions.optional()],
]);
