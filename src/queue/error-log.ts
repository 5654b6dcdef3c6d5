/** The error log: the failures of all queues and the runner's own errors, newest first. Only reads the store. */
import { errorBodyOf, type ReportedError } from "../dead-letter/import-export/error-body.ts";
import type { Engine } from "../engine.ts";
import { type ErrorEntry, type ErrorOrigin, type ErrorQuery, EVENTS_OF_ORIGIN } from "../item/error-log.ts";
import { errorTypeToJson } from "../item/error-type.ts";
import { evidenceFileToJson, sourceWithDefaults } from "../item/failure.ts";
import { machineOf } from "../lease/holder.ts";
import { type Clock, systemClock, toRfc3339 } from "../std/clock.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";

/** Filters for the error log. An error must match all of them. */
export interface ErrorLogQuery extends Omit<ErrorQuery, "queue"> {
  /** The names of the queues. Default: all queues. */
  readonly queues?: readonly string[];
}

/** A page of the error log. */
export interface ErrorPage {
  readonly errors: readonly ErrorEntry[];
  /** The value of `before` for the next page; null at the end. */
  readonly next: number | null;
}

/** Reads a page of the error log, newest first. */
export async function readErrors(engine: Engine, query: ErrorLogQuery): Promise<ErrorPage> {
  const { queues, limit, ...wanted } = query;
  const one = (queue: { readonly queue?: string }) =>
    engine.listErrors({ ...wanted, ...queue, limit: limit + 1 }); // requests one more entry, to detect a next page
  const lists = await Promise.all(
    [...new Set(queues ?? [undefined])].map((queue) => one(compact({ queue }))),
  );
  const found = lists.flat().sort((first, second) => second.id - first.id);
  const errors = found.slice(0, limit);
  return { errors, next: found.length > limit ? (errors.at(-1)?.id ?? null) : null };
}

const LOOK_MS = 200;

/** Yields the newest page, oldest first, and then every new error until the signal is aborted. */
export async function* followErrors(
  engine: Engine,
  query: ErrorLogQuery,
  { stop, clock = systemClock }: { stop: AbortSignal; clock?: Clock },
): AsyncGenerator<ErrorEntry> {
  let { errors } = await readErrors(engine, query);
  let seen = 0;
  while (!stop.aborted) {
    for (const entry of errors.toReversed()) yield entry;
    seen = errors[0]?.id ?? seen;
    await clock.sleep(LOOK_MS, stop);
    if (!stop.aborted) errors = await newerThan(seen, engine, query);
  }
}

async function newerThan(seen: number, engine: Engine, query: ErrorLogQuery): Promise<readonly ErrorEntry[]> {
  const newer: ErrorEntry[] = [];
  for (let before: number | null | undefined; before !== null; ) {
    const page: ErrorPage = await readErrors(engine, { ...query, ...(before !== undefined && { before }) });
    const fresh = page.errors.filter(({ id }) => id > seen);
    newer.push(...fresh);
    before = fresh.length < page.errors.length ? null : page.next;
  }
  return newer;
}

export function originOf({ type }: ErrorEntry): ErrorOrigin {
  return (EVENTS_OF_ORIGIN.runner as readonly string[]).includes(type) ? "runner" : "work";
}

/** Converts an error to its public JSON form. Unknown fields are null. */
export function errorToJson(entry: ErrorEntry): JsonObject {
  const { failure } = entry;
  const source = sourceWithDefaults({ ...knownOf(entry), source: failure?.source });
  return {
    id: entry.id,
    timestamp: toRfc3339(entry.at),
    name: `Error-${source.executionId}-${source.flow}`,
    origin: originOf(entry),
    event: entry.type,
    queue: entry.queue ?? null,
    item_id: entry.itemId ?? null,
    attempt: entry.attempt ?? null,
    machine: machineFor(entry) ?? null,
    execution_id: source.executionId,
    flow: source.flow,
    subflow: source.subflow,
    step: failure?.stepFailed ?? null,
    action: source.action,
    action_name: source.actionName,
    error_type: typeToJson(entry),
    error_class: failure?.errorClass ?? entry.errorClass ?? null,
    error_message: entry.message,
    evidence: (failure?.evidence ?? []).map(evidenceFileToJson),
  };
}

/** Converts an error to the form of Power Automate's error queues: its seven fields first, then additional ones. */
export function errorToBody(entry: ErrorEntry): JsonObject {
  const { failure, message } = entry;
  return {
    ...errorBodyOf({ ...knownOf(entry), message, failure }),
    "Error Type": typeToJson(entry),
    Timestamp: toRfc3339(entry.at),
    Origin: originOf(entry),
    Queue: entry.queue ?? null,
    "Item Id": entry.itemId ?? null,
    Attempt: entry.attempt ?? null,
    Machine: machineFor(entry) ?? null,
  };
}

function typeToJson({ failure, errorType }: ErrorEntry): Json {
  return failure === undefined ? (errorType ?? null) : errorTypeToJson(failure.errorType);
}

function knownOf(entry: ErrorEntry): Omit<ReportedError, "message" | "failure"> {
  const { queue, attempt, failure } = entry;
  return { jobId: queue, queue, attempt, holder: agentOf(entry), step: failure?.stepFailed };
}

/** The slot that ran the attempt, else the holder of its lease. */
const agentOf = ({ failure, holder }: ErrorEntry) => failure?.agentId || holder;

function machineFor({ failure, holder, machine }: ErrorEntry): string | undefined {
  const agent = holder ?? failure?.agentId;
  return agent ? machineOf(agent) : machine;
}
