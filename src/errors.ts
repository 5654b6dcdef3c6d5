/**
 * The one error class of Redrive. A `WorkError` is an operating error that a user can meet: its code says what
 * it means to the CLI, its message what happened and to what, its hint what to do next. A bug is an
 * `AssertionError` (kit/assert.ts) and is never caught to be handled.
 */

/** Every code there is. Adding one does not compile until the CLI says which exit code it has. */
export const ERROR_CODES = [
  "usage", // the command line, an option or a configuration is wrong
  "input_invalid", // the input cannot be read as items
  "filter_invalid", // a filter that cannot be parsed or typed; it matches nothing
  "command_not_found", // the command to run does not exist or cannot be executed
  "job_not_found",
  "item_not_found",
  "log_not_found",
  "operation_not_found",
  "group_not_found",
  "ambiguous", // a name or prefix fits several things
  "phase_failed", // a step of setup, reduce or merge
  "job_running", // another runner is at it and the command needs it alone
  "job_changed", // the same name, but other work than before
  "git_unusable", // git is missing or too old, or this is not a repository that work can start from
  "git_refused", // git said no; its own words are in the message
  "copy_refused", // the store that is to take a copy has other content
  "copy_differs", // a copy is not equal to its source
  "lease_lost", // a stale token; nothing was changed
  "interrupted", // by a signal, before anything was done
  "illegal_move", // the item is not in a state from which this is allowed
  "receipt_conflict", // a receipt with the same key and another body was sent before
  "target_unreachable", // nobody answers where receipts are to go, or the target is paused; nothing is lost
  "store_busy", // locked by another process for too long
  "store_full", // no space left to write
  "store_readonly",
  "store_corrupt",
  "store_newer", // written by a newer version of Redrive
  "store_denied", // the server refuses this user, or has no such database; waiting does not help
  "store_unavailable", // cannot be opened, read or written for another reason
] as const;

/** What kind of error it is. */
export type ErrorCode = (typeof ERROR_CODES)[number];

export interface WorkErrorOptions extends ErrorOptions {
  /** What the user can do next. */
  readonly hint?: string;
}

/** An operating error: what happened, to what, and what to do next. */
export class WorkError extends Error {
  override readonly name = "WorkError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: WorkErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.hint = options.hint;
  }
}

/** What obeys the settings of a queue meets others; see `AddOptions.spec`. */
export function settingsChanged(queue: string): WorkError {
  return new WorkError("job_changed", `The settings of ${queue} are others by now; nothing was added.`, {
    hint: "Read them again, and add by them.",
  });
}

/** True when the store cannot be used, for a while or permanently. */
export function isStoreError(error: unknown): error is WorkError {
  return error instanceof WorkError && error.code.startsWith("store_");
}

/** True when the store cannot be used for a while: a runner waits and tries again. */
export function isStoreTrouble(error: unknown): error is WorkError {
  return isStoreError(error) && error.code !== "store_newer" && error.code !== "store_denied";
}
