/** The error log: one entry for every failed attempt and every error of the runner, derived from the events. */
import { fromRfc3339 } from "../std/clock.ts";
import { compact, reader } from "../std/json.ts";
import type { Event, EventType } from "./event.ts";
import type { Failure } from "./failure.ts";

export const ERROR_EVENTS = [
  "attempt_failed",
  "attempt_lost",
  "failure_imported",
  "runner_failed",
  "store_write_failed",
] as const satisfies readonly EventType[];

/** The source of an error: the user's work, or the runner itself. */
export const ERROR_ORIGINS = ["work", "runner"] as const;
/** One of `ERROR_ORIGINS`. */
export type ErrorOrigin = (typeof ERROR_ORIGINS)[number];

/** One entry of the error log. */
export interface ErrorEntry {
  /** The id of the event. Ids increase with time, so this is also the cursor for paging. */
  readonly id: number;
  /** When the attempt failed. An imported failure happened earlier than its event was written. */
  readonly at: number;
  readonly type: (typeof ERROR_EVENTS)[number];
  readonly queue?: string;
  readonly itemId?: string;
  readonly attempt?: number;
  /** The id of the lease holder, which includes the machine's name. */
  readonly holder?: string;
  /** The failure message, or the event's message if there is no failure record. */
  readonly message: string;
  /** Absent for errors of the runner and for purged items. */
  readonly failure?: Failure;
  /** Taken from the event if the failure record was purged. */
  readonly errorType?: string;
  readonly errorClass?: string;
  /** Taken from the event if there was no lease. */
  readonly machine?: string;
}

/** Selects entries, newest first. All given conditions must hold. */
export interface ErrorQuery {
  readonly queue?: string;
  readonly itemId?: string;
  readonly origin?: ErrorOrigin;
  readonly since?: number;
  /** Returns only entries with a lower id. Pass the last id of the previous page. */
  readonly before?: number;
  readonly limit: number;
}

/** The event types of each origin. A lost worker counts as a failure of the work. */
export const EVENTS_OF_ORIGIN: Readonly<Record<ErrorOrigin, readonly (typeof ERROR_EVENTS)[number][]>> = {
  work: ["attempt_failed", "attempt_lost", "failure_imported"],
  runner: ["runner_failed", "store_write_failed"],
};

/** Builds an entry from an event and the other fields of the attempt record. */
export function errorEntryOf(
  { id, at, type, queue, itemId, attempt, data }: Event,
  { holder, failure }: { readonly holder?: string | undefined; readonly failure?: Failure | undefined },
): ErrorEntry {
  const entry = type as ErrorEntry["type"];
  const read = reader(data ?? {});
  const message = failure?.errorMessage ?? read.text("message") ?? DEFAULT_MESSAGES[entry];
  const errorType = failure ? undefined : read.text("error_type");
  const errorClass = failure ? undefined : read.text("error_class");
  const origin = { queue, itemId, attempt, holder, machine: read.text("machine") };
  const failedAt = fromRfc3339(read.text("failed_at") ?? "") ?? at;
  return compact({ id, at: failedAt, type: entry, ...origin, message, failure, errorType, errorClass });
}

const DEFAULT_MESSAGES: Readonly<Record<ErrorEntry["type"], string>> = {
  attempt_failed: "The attempt failed.",
  attempt_lost: "The worker vanished.",
  failure_imported: "The attempt failed.",
  runner_failed: "The runner could not make the attempt.",
  store_write_failed: "The store could not be written.",
};
