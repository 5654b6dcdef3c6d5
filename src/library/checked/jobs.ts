/** Library functions that run jobs and read their results, with argument checks. */
import * as intake from "../../intake/read-items.ts";
import * as errors from "../../queue/error-log.ts";
import * as find from "../../queue/find-job.ts";
import * as summary from "../../queue/job-summary.ts";
import * as backoff from "../../retry/backoff.ts";
import * as map from "../../run/map.ts";
import * as resume from "../../run/resume.ts";
import * as retry from "../../run/retry.ts";
import type { RunDeps as UncheckedDeps } from "../../run/run-job.ts";
import type { RunOptions, RunResult } from "../../runner/run-options.ts";
import * as runner from "../../runner/runner.ts";
import * as metrics from "../../service/metrics.ts";
import * as metricsTexts from "../../service/metrics-text.ts";
import { objectOf, optional, text } from "../../std/check-input.ts";
import { checked, checkedNow } from "./checked.ts";
import { checkedHandler } from "./checked-handler.ts";
import { limitsOfJob, type RunDeps } from "./letter-limits.ts";
import { retryOptions } from "./letter-schemas.ts";
import * as s from "./schemas.ts";

const { engine, job, operation, runDeps: deps } = s;

function withLimits<Rest extends readonly unknown[], Result>(
  call: (deps: UncheckedDeps, ...rest: Rest) => Promise<Result>,
): (deps: RunDeps, ...rest: Rest) => Promise<Result> {
  return ({ limits, services = [], ...others }, ...rest) =>
    call({ ...others, services: [limitsOfJob(limits), ...services] }, ...rest);
}

/** Creates a job, or resumes the one with the same name, and runs it to the end. */
export const startMap = checked("startMap", withLimits(map.startMap), { deps, options: s.mapOptions });

/** Resumes a job: finishes pending items, and retries eligible letters if requested. */
export const resumeJob = checked("resumeJob", withLimits(resume.resumeJob), {
  deps,
  options: s.resumeOptions,
});

/** Retries letters and waits until they have finished. */
export const retryLetters = checked("retryLetters", withLimits(retry.retryLetters), {
  deps,
  options: retryOptions,
});

/** Redrives letters for a worker to run. */
export const detachLetters = checked("detachLetters", retry.detachLetters, { engine, options: retryOptions });

/** Resumes a redrive. */
export const continueRedrive = checked("continueRedrive", withLimits(retry.continueRedrive), {
  deps,
  operation,
  options: objectOf<{ onOperation?: unknown; onNotice?: unknown }>(
    optional(s.callback, "onOperation", "onNotice"),
  ).optional(),
});

/** Runs a queue until it is empty or the signal aborts. */
export const runQueue = checked("runQueue", runWithHandler, { options: s.runOptions });

function runWithHandler(options: RunOptions): Promise<RunResult> {
  return runner.runQueue({ ...options, handler: checkedHandler(options.handler) });
}

/** Reads an input as items, in batches. */
export const readItems = checkedNow("readItems", intake.readItems, {
  source: s.inputSource,
  options: s.readOptions.optional(),
});

/** Finds a job by its id, its name or a prefix of its id; throws `job_not_found`. */
export const requireJob = checked("requireJob", find.requireJob, { engine, idOrName: text });

/** The current totals of a job. */
export const summarise = checked("summarise", summary.summarise, { engine, job });

/** The status of a job. If its runner has died, the status is `interrupted`. */
export const statusOf = checked("statusOf", summary.statusOf, { engine, job });

/** Parses a backoff in the syntax of the command line, e.g. `fixed:5s`. */
export const parseBackoff = checkedNow("parseBackoff", backoff.parseBackoff, { text });

/** A page of the error log, newest first. */
export const readErrors = checked("readErrors", errors.readErrors, { engine, query: s.errorLogQuery });

/** Follows the error log as new entries arrive. */
export const followErrors = checkedNow("followErrors", errors.followErrors, {
  engine,
  query: s.errorLogQuery,
  options: s.followOptions,
});

/** The metrics of a store. */
export const readMetrics = checked("readMetrics", metrics.readMetrics, { engine });

/** The metrics of a store in the text format of Prometheus. */
export const metricsText = checked("metricsText", metricsTexts.metricsText, {
  engine,
  options: s.metricsTextOptions.optional(),
});
