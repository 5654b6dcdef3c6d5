/**
 * The error log: one entry for every failure of every queue, whether or not it was retried, and for the runner's own
 * errors. It is the part of the event log that tells of errors; work never waits for it, and no item lives in it.
 */
import { fromRfc3339 } from "../kit/clock.ts";
import type { Event, EventType } from "./event.ts";
import { compact, type Failure, reader } from "./failure.ts";

/** The events that are entries of the error log. */
export const ERROR_EVENTS = [
  "attempt_failed",
  "attempt_lost",
  "failure_imported",
  "runner_failed",
  "store_write_failed",
] as const satisfies readonly EventType[];

/** Whose error it is: that of the work, or that of Redrive itself. */
export const ERROR_ORIGINS = ["work", "runner"] as const;
/** One of `ERROR_ORIGINS`. */
export type ErrorOrigin = (typeof ERROR_ORIGINS)[number];

/** One entry, as the store has it. */
export interface ErrorEntry {
  /** The id of its event: rises with time, a cursor. */
  readonly id: number;
  /** When it failed; of an imported failure that is before its event. */
  readonly at: number;
  readonly type: (typeof ERROR_EVENTS)[number];
  readonly queue?: string;
  readonly itemId?: string;
  readonly attempt?: number;
  /** Who held the lease; names the machine. */
  readonly holder?: string;
  /** What went wrong, in one sentence: of the failure, else of the event. */
  readonly message: string;
  /** Absent for the runner's own errors, and when the item's records were purged. */
  readonly failure?: Failure;
  /** What the event says of a failure that was purged. */
  readonly errorType?: string;
  readonly errorClass?: string;
  /** Whose machine it was, when the event says so: there was no lease. */
  readonly machine?: string;
}

/** Which entries are wanted, newest first. All that is given must hold. */
export interface ErrorQuery {
  readonly queue?: string;
  readonly itemId?: string;
  readonly origin?: ErrorOrigin;
  readonly since?: number;
  /** Only entries with a lower id: the last one of the page before. */
  readonly before?: number;
  readonly limit: number;
}

/** The events that each origin stands for. A lost worker is told of by the work's own failure. */
export const EVENTS_OF_ORIGIN: Readonly<Record<ErrorOrigin, readonly (typeof ERROR_EVENTS)[number][]>> = {
  work: ["attempt_failed", "attempt_lost", "failure_imported"],
  runner: ["runner_failed", "store_write_failed"],
};

/** The entry that an event is, with what is left of its attempt's record. */
export function errorEntryOf(
  { id, at, type, queue, itemId, attempt, data }: Event,
  { holder, failure }: { readonly holder?: string | undefined; readonly failure?: Failure | undefined },
): ErrorEntry {
  const entry = type as ErrorEntry["type"];
  const said = reader(data ?? {});
  const message = failure?.errorMessage ?? said.text("message") ?? UNTOLD[entry];
  const errorType = failure ? undefined : said.text("error_type");
  const errorClass = failure ? undefined : said.text("error_class");
  const place = { queue, itemId, attempt, holder, machine: said.text("machine") };
  const failedAt = fromRfc3339(said.text("failed_at") ?? "") ?? at;
  return compact({ id, at: failedAt, type: entry, ...place, message, failure, errorType, errorClass });
}

/** What is said when neither the event nor a record has words for it any more. */
const UNTOLD: Readonly<Record<ErrorEntry["type"], string>> = {
  attempt_failed: "The attempt failed.",
  attempt_lost: "The worker vanished.",
  failure_imported: "The attempt failed.",
  runner_failed: "The runner could not make the attempt.",
  store_write_failed: "The store could not be written.",
};
