/**
 * The only error class of Redrive. A `RedriveError` is an operating error: its code sets the exit status, its message describes
 * what happened, and its hint what to do next. A bug is an `AssertionError` (std/assert.ts), which is never handled.
 */

/** All error codes. A new code does not compile until the CLI assigns it an exit status. */
export const ERROR_CODES = [
  "usage", // an invalid command line, option or configuration
  "input_invalid", // the input cannot be parsed into items
  "filter_invalid", // a filter that cannot be parsed or has a type error; it matches nothing
  "command_not_found", // the command to run does not exist or cannot be executed
  "job_not_found",
  "item_not_found",
  "item_exists", // the queue already has an item with this key and refuses another one
  "item_dead", // the awaited item became a letter, or was skipped or discarded
  "log_not_found",
  "operation_not_found",
  "group_not_found",
  "schedule_not_found",
  "ambiguous", // a name or prefix matches several jobs, items or groups
  "phase_failed", // a step of setup, reduce or merge failed
  "job_running", // another process is running the job, and the command needs exclusive access
  "job_changed", // the name is already used with other settings or other work
  "git_unusable", // git is missing or too old, or the folder is not a usable repository
  "git_refused", // git failed; the message contains its output
  "copy_refused", // the target of a copy contains other data
  "copy_differs", // a copy is not equal to its source
  "lease_lost", // the lease was lost to another holder; nothing was changed
  "wait_timeout", // the awaited event did not happen in the given time
  "interrupted", // stopped by a signal before anything was changed
  "illegal_move", // the item's state does not allow this action
  "receipt_conflict", // a receipt with the same key but a different body was already sent
  "target_unreachable", // the receiver does not respond or the target is paused; nothing is lost
  "store_busy", // locked by another process for too long
  "store_full", // no space left to write
  "store_readonly",
  "store_corrupt",
  "store_newer", // written by a newer version of Redrive
  "store_denied", // the server rejects this user or the database does not exist; waiting does not help
  "store_unavailable", // cannot be opened, read or written for another reason
] as const;

/** One of `ERROR_CODES`. */
export type ErrorCode = (typeof ERROR_CODES)[number];

export interface RedriveErrorOptions extends ErrorOptions {
  /** What the user can do next. */
  readonly hint?: string;
  /** The path of the invalid option or field, for example `retries` or `items[3].priority`. */
  readonly field?: string;
  /** Whether the opened store was removed or replaced. Default false. */
  readonly isStoreGone?: boolean;
}

/** An operating error with a code, a message and a hint. */
export class RedriveError extends Error {
  override readonly name = "RedriveError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  /** The path of the invalid option or field, for example `retries` or `items[3].priority`. */
  readonly field: string | undefined;
  /** Whether the opened store was removed or replaced. A retry cannot succeed until a person restores the store. */
  readonly isStoreGone: boolean;

  constructor(code: ErrorCode, message: string, options: RedriveErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.hint = options.hint;
    this.field = options.field;
    this.isStoreGone = options.isStoreGone ?? false;
  }
}

/** The error for items added with outdated queue settings; see `AddOptions.spec`. */
export function settingsChanged(queue: string): RedriveError {
  return new RedriveError(
    "job_changed",
    `The settings of ${queue} changed while items were being added. Nothing was added.`,
    {
      hint: "Try again.",
    },
  );
}

/** Whether the store cannot be used, temporarily or permanently. */
export function isStoreError(error: unknown): error is RedriveError {
  return error instanceof RedriveError && error.code.startsWith("store_");
}

/** Whether the store is temporarily unusable, so that a runner should wait and retry. */
export function isStoreTrouble(error: unknown): error is RedriveError {
  return isStoreError(error) && error.code !== "store_newer" && error.code !== "store_denied";
}

export function isError(error: unknown, code: ErrorCode): error is RedriveError {
  return error instanceof RedriveError && error.code === code;
}
