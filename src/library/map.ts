/**
 * Runs a function over items as a job of the store: failures become letters, and a second call with the same
 * name continues the job.
 */
import * as z from "zod";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { Identity, idProblem } from "../intake/identity.ts";
import type { NewItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { slugOf } from "../queue/find-job.ts";
import { DEFAULT_BREAKER, DEFAULT_POLICY, type Policy } from "../retry/policy.ts";
import { isFunctionMap } from "../run/map-spec.ts";
import { type JobHandler, runJob } from "../run/run-job.ts";
import type { Feed } from "../runner/run-options.ts";
import * as t from "../std/check-input.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { jsonProblem, toJsonData } from "./checked/json-data.ts";
import { limitsOfJob } from "./checked/letter-limits.ts";
import type { Context } from "./context.ts";
import { Letters } from "./letters.ts";
import type { Middleware } from "./middleware.ts";
import { breakerOf, POLICY_OPTIONS, type PolicyOptions } from "./queue-options.ts";
import { Reporter } from "./reporter.ts";
import { type Task, taskHandler } from "./task.ts";
import { callback, type Shape, signal } from "./values.ts";

/** The options of `redrive.map`. */
export interface MapOptions<Item> extends PolicyOptions {
  /** How many items run at the same time. Default 10. */
  readonly concurrency?: number;
  /** The identity of an item, by which a later call recognises it. Default: derived from its content. */
  readonly key?: (item: Item) => string;
  /** Stops the map: the call rejects with `interrupted`, and the next call continues. */
  readonly signal?: AbortSignal;
  /** Stops the map when this many items have died. Default: no limit. */
  readonly maxFailures?: number;
  /**
   * Stops the map when more than this share (0 to 1) of the finished items have died, once 10 have finished.
   */
  readonly failureThreshold?: number;
}

const mapOptions = z.strictObject({
  ...POLICY_OPTIONS,
  concurrency: t.wholeNumber(1, 100_000).optional(),
  key: callback.optional(),
  signal: signal.optional(),
  maxFailures: t.positive.optional(),
  failureThreshold: t.numberFrom(0, 1).optional(),
} satisfies Shape<MapOptions<unknown>>);

type ReadMapOptions = z.output<typeof mapOptions>;

/** Processes one item of a map. Its return value becomes the result; if it throws, the attempt fails. */
export type MapHandler<Item, Result> = (data: Item, task: Task<Item>) => Result | Promise<Result>;

/** The totals of a map over all its calls, with its letters and results. */
export interface MapResult<Item, Result> {
  readonly jobId: string;
  readonly total: number;
  readonly succeeded: number;
  readonly dead: number;
  readonly skipped: number;
  /** Why the policy stopped the map before all items were done. */
  readonly stopReason?: string;
  /** The letters of the map. `retry` runs the same function in this process. */
  readonly letters: Letters<Item>;
  /** The results of all items that succeeded, in the order in which the items were added. */
  results(): AsyncIterable<{ readonly id: string; readonly data: Item; readonly result: Result }>;
}

const CONCURRENCY = 10;
/** How long a stopped map waits for a function that ignores its signal. */
const ABANDON_AFTER_MS = 5000;
const BATCH_MAX = 500;
const PAGE_MAX = 500;

export interface MapCall<Item, Result> {
  readonly name: string;
  readonly items: Iterable<Item> | AsyncIterable<Item>;
  readonly handler: MapHandler<Item, Result>;
  readonly options: MapOptions<Item>;
}

export async function runMap<Item, Result>(
  context: Context,
  call: MapCall<Item, Result>,
): Promise<MapResult<Item, Result>> {
  const options = checkCall(call);
  const job = await openJob(context.engine, call.name, options);
  const reporter = new Reporter<Item, Result>(context, () => job.id);
  const work = () => handlerOf(context, call.handler, { options, reporter });
  const { end, reason } = await running(context, job, options, (stop, drain) =>
    runJob(
      { ...depsOf(context), stop, drain, observer: reporter.observer },
      { job, work: work(), feed: feedOf(context, job, call) },
    ),
  );
  if (end === "interrupted")
    throw new RedriveError("interrupted", `The map ${call.name} was stopped before it finished.`, {
      hint: "Call it again with the same name to continue. Completed items are not repeated.",
    });
  const { total, done: succeeded, dead, skipped } = await context.engine.count(job.id);
  return {
    jobId: job.id,
    ...{ total, succeeded, dead, skipped },
    ...(reason !== undefined && { stopReason: reason }),
    letters: new Letters<Item>(context, { queue: job.id, work }, {}),
    results: () => resultsOf<Item, Result>(context.engine, job.id),
  };
}

function checkCall<Item, Result>({ name, items, handler, options }: MapCall<Item, Result>): ReadMapOptions {
  const caller = "redrive.map";
  t.checkInput(t.name, name, { caller, name: "name" });
  t.checkInput(iterable, items, { caller, name: "items" });
  t.checkInput(callback, handler, { caller, name: "handler" });
  return t.parseInput(mapOptions, options, { caller, name: "options" });
}

const iterable = t.anyThat(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    (Symbol.iterator in value || Symbol.asyncIterator in value),
  "a list or another iterable of items",
);

function depsOf({ engine, home, clock, author, limits, runner }: Context) {
  const services = [limitsOfJob(limits)];
  return { ...runner, engine, home, clock, author, services, abandonAfterMs: ABANDON_AFTER_MS };
}

/** Registers the map, so that closing the store drains it. */
async function running<T>(
  context: Context,
  { id: queue }: Job,
  options: ReadMapOptions,
  run: (stop: AbortSignal, drain: AbortSignal) => Promise<T>,
): Promise<T> {
  const [stop, drain] = [new AbortController(), new AbortController()];
  const given = options.signal as AbortSignal | undefined;
  const ended = run(AbortSignal.any([stop.signal, ...(given === undefined ? [] : [given])]), drain.signal);
  const entry = {
    queue,
    reportErrors: () => undefined, // the caller gets the error
    drain: async (timeoutMs?: number) => {
      drain.abort();
      const cancel =
        timeoutMs === undefined ? () => undefined : context.clock.after(timeoutMs, () => stop.abort());
      await ended.catch(() => undefined).finally(cancel);
    },
  };
  context.running.add(entry);
  return ended.finally(() => context.running.delete(entry));
}

function policyOf(options: ReadMapOptions): Policy {
  const {
    retries = DEFAULT_POLICY.maxAttempts - 1,
    backoff,
    onFailure,
    onOutage,
    maxOutage,
    breaker,
  } = options;
  if (typeof maxOutage === "number" && onOutage !== "wait")
    throw t.invalidInput("redrive.map", [
      { text: 'options.maxOutage has no effect without onOutage: "wait"', field: "maxOutage" },
    ]);
  return compact({
    ...DEFAULT_POLICY,
    maxAttempts: retries + 1,
    ...compact({ backoff, onItemFailure: onFailure, lossesMax: options.maxLosses }),
    onOutage: onOutage ?? undefined,
    outageMsMax: maxOutage ?? undefined,
    maxFailures: options.maxFailures,
    failureThreshold: options.failureThreshold,
    breaker: breaker ? { ...DEFAULT_BREAKER, ...breakerOf(breaker) } : undefined,
  }) as Policy;
}

function handlerOf<Item, Result>(
  { clock, use }: Context,
  handler: MapHandler<Item, Result>,
  { options, reporter }: { readonly options: ReadMapOptions; readonly reporter: Reporter<Item, Result> },
): JobHandler {
  const policy = policyOf(options);
  const settings = { policy, ...compact({ rate: options.rate ?? undefined }) };
  return {
    policy,
    slots: options.concurrency ?? CONCURRENCY,
    settings: () => settings,
    handler: taskHandler({
      handler: (task) => handler(task.data as Item, task as Task<Item>),
      use: [...use, ...((options.use ?? []) as readonly Middleware[])],
      timeoutMs: options.timeout,
      now: () => clock.now(),
      onProgress: (item, value) => reporter.progress(item, value),
    }),
    close: async () => undefined,
  };
}

/** Adds the items in batches while the first ones run. Items that the job already has are skipped. */
function feedOf<Item, Result>(context: Context, job: Job, call: MapCall<Item, Result>): Feed {
  const { engine } = context;
  return async function* (storeRetry, abort) {
    const identity = new Identity({ name: call.name, format: "json", sniffed: false }, {});
    let changed = 0;
    let read = 0;
    let batch: NewItem[] = [];
    const add = async () => {
      const items = batch;
      batch = [];
      const report = await storeRetry.run(() => engine.add(job.id, items));
      if (changed === 0 && report.changed > 0) warnOfChange(context, call.name, report.changedIds);
      changed += report.changed;
      return report.added;
    };
    for await (const item of call.items) {
      if (abort.aborted) return;
      batch.push(newItem(item, { index: read, identity, key: call.options.key }));
      read += 1;
      if (batch.length >= BATCH_MAX) yield await add();
    }
    if (batch.length > 0) yield await add();
    await storeRetry.run(() => engine.changeJob(job.id, { intakeComplete: true }));
  };
}

interface ItemPlace<Item> {
  readonly index: number;
  readonly identity: Identity;
  readonly key: ((item: Item) => string) | undefined;
}

function newItem<Item>(item: Item, { index, identity, key }: ItemPlace<Item>): NewItem {
  const field = `items[${index}]`;
  const problem = jsonProblem(item);
  if (problem !== undefined)
    throw new RedriveError("input_invalid", `${field} cannot be stored as JSON: ${problem}.`, { field });
  const data: Json = toJsonData(item);
  if (key === undefined) {
    const known = identity.itemOf({ data, line: index + 1 });
    if (known !== undefined) return known;
  }
  const itemId: unknown = key?.(item);
  const wrong = typeof itemId === "string" ? idProblem(itemId) : "is not a text";
  if (typeof itemId === "string" && wrong === undefined) return { itemId, data };
  throw new RedriveError("input_invalid", `${field}: its key ${wrong}.`, { field: "key" });
}

function warnOfChange({ onNotice }: Context, name: string, ids: readonly string[]): void {
  const text = `The map ${name} has items with the same key but different data (${ids.slice(0, 3).join(", ")}). The data of the first item is kept.`;
  if (onNotice) onNotice(text);
  else process.emitWarning(text, "RedriveWarning");
}

/** Creates the job, or continues the existing one with this name. */
async function openJob(engine: Engine, name: string, options: ReadMapOptions): Promise<Job> {
  const spec: JsonObject = JSON.parse(
    JSON.stringify({ function: true, jobs: options.concurrency ?? CONCURRENCY, policy: policyOf(options) }),
  ) as JsonObject;
  const found = await engine.findJob(name);
  if (found !== null) return reopen(engine, found, spec);
  try {
    const id = `${slugOf(name, "map")}-${randomName(8)}`;
    return await engine.createJob({ id, name, kind: "map", spec });
  } catch (error) {
    const made = await engine.findJob(name); // another process created it first
    if (made === null) throw error;
    return reopen(engine, made, spec);
  }
}

async function reopen(engine: Engine, job: Job, spec: JsonObject): Promise<Job> {
  if (!isFunctionMap(job))
    throw new RedriveError(
      "job_changed",
      `The name ${job.name} is already used: ${job.id} is a ${job.kind}.`,
      {
        field: "name",
        hint: "Choose another name for the map.",
      },
    );
  const event = { type: "job_resumed" } as const;
  return engine.changeJob(job.id, { status: "running", restarted: true, intakeComplete: false, spec, event });
}

/** Items and results are read page by page in the same order and joined. */
export async function* resultsOf<Item, Result>(engine: Engine, queue: string) {
  for (let after = 0; ; ) {
    const items = await engine.listItems({ queue, states: ["done"], after, limit: PAGE_MAX });
    const last = items.at(-1);
    if (last === undefined) return;
    const results = await engine.listResults(queue, { after, limit: PAGE_MAX });
    const resultOf = new Map(results.map(({ ref, result }) => [ref, result]));
    for (const { ref, itemId: id, data } of items)
      yield { id, data: data as Item, result: (resultOf.get(ref) ?? null) as Result };
    after = last.ref;
  }
}
