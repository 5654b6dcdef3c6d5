/** Exit codes, and the output of an error. The code compiles only if every error code has an exit code. */

import { CommanderError } from "commander";
import { type ErrorCode, RedriveError } from "../errors.ts";
import type { JobSummary } from "../queue/job-summary.ts";
import type { Terminal } from "./context.ts";

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  lettersLeft: 3,
  notFound: 4,
  refused: 5,
  storeUnavailable: 75,
  /** A temporary problem: nothing is lost, and the same command may succeed later. */
  notNow: 75,
  interrupted: 130,
} as const;

export const EXIT_CODE: Readonly<Record<ErrorCode, number>> = {
  usage: EXIT.usage,
  input_invalid: EXIT.usage,
  filter_invalid: EXIT.usage,
  command_not_found: EXIT.usage,
  ambiguous: EXIT.usage,
  git_unusable: EXIT.usage,
  job_not_found: EXIT.notFound,
  item_not_found: EXIT.notFound,
  item_exists: EXIT.refused,
  item_dead: EXIT.lettersLeft,
  wait_timeout: EXIT.notNow,
  log_not_found: EXIT.notFound,
  operation_not_found: EXIT.notFound,
  group_not_found: EXIT.notFound,
  schedule_not_found: EXIT.notFound,
  phase_failed: EXIT.failed,
  job_running: EXIT.refused,
  job_changed: EXIT.refused,
  git_refused: EXIT.refused,
  copy_refused: EXIT.refused,
  copy_differs: EXIT.failed,
  lease_lost: EXIT.refused,
  illegal_move: EXIT.refused,
  receipt_conflict: EXIT.refused,
  target_unreachable: EXIT.notNow,
  interrupted: EXIT.interrupted,
  store_busy: EXIT.storeUnavailable,
  store_full: EXIT.storeUnavailable,
  store_readonly: EXIT.storeUnavailable,
  store_corrupt: EXIT.storeUnavailable,
  store_newer: EXIT.storeUnavailable,
  store_denied: EXIT.storeUnavailable,
  store_unavailable: EXIT.storeUnavailable,
};

/** An error that the user can resolve: what happened, and what to do next. */
export function userError(code: ErrorCode, message: string, hint: string, cause?: unknown): RedriveError {
  return new RedriveError(code, message, { hint, cause });
}

/** The hint for a file that cannot be written. */
export const WRITABLE_FILE = "Give a file in an existing folder that you may write to.";

/** The error for two options that exclude each other. */
export function conflict(one: string, other: string, hint = "Omit one of them."): RedriveError {
  return userError("usage", `${one} and ${other} cannot be used together.`, hint);
}

/** The error for a store whose rows contradict each other. */
export function damagedStore(why: string, cause: unknown): RedriveError {
  const hint = "List what is wrong: redrive store check";
  return userError("store_corrupt", `The store is damaged: ${why}.`, hint, cause);
}

export function exitCodeOf(summary: JobSummary): number {
  const isCutShort = summary.status === "interrupted" && summary.remaining > 0; // by `redrive stop`, for example
  if (summary.status === "failed" || summary.status === "stopped" || isCutShort) return EXIT.failed;
  return summary.dead > 0 ? EXIT.lettersLeft : EXIT.done;
}

/** How an error is reported: as text or JSON, and with the usage line of the command that was meant. */
interface ReportOptions {
  readonly isJson: boolean;
  readonly usage?: string;
}

export function reportError(
  error: unknown,
  { stdout, stderr }: Terminal,
  { isJson, usage }: ReportOptions,
): number {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done; // help and version were printed
  if (error instanceof CommanderError && error.code === "commander.help") return EXIT.usage; // printed for a missing command
  const failure = asRedriveError(error, usage);
  const { code, message, hint } = failure;
  if (isJson)
    stdout.write(`${JSON.stringify({ error: { code, message, ...(hint && { hint }) } }, null, 2)}\n`);
  else stderr.write(`redrive: ${message}\n${hint ? `  ${hint}\n` : ""}`);
  return EXIT_CODE[code];
}

function asRedriveError(error: unknown, usage: string | undefined): RedriveError {
  if (error instanceof RedriveError) return error;
  if (error instanceof CommanderError) {
    const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
    return userError(
      "usage",
      asSentence(message),
      more.join(" ").replace(/^\((.*)\)$/, "$1") || usageHint(error.code, usage),
    );
  }
  if (!(error instanceof Error)) throw error;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  // The engine does not translate every error of SQLite, such as a constraint violation by damaged rows.
  if (code === "ERR_SQLITE_ERROR") return damagedStore(error.message, error);
  if (typeof code !== "string" || typeof syscall !== "string" || !/^E[A-Z0-9]+$/.test(code)) throw error; // a bug
  const why = error.message.replace(/^E[A-Z0-9]+: /, "").replace(/, .*$/s, "");
  const message = `Cannot ${syscall}${path === undefined ? "" : ` ${path}`}: ${why} (${code}).`;
  const hint = "Check the path and its folders: type, owner, and free space.";
  return userError(SYSTEM_CODES[code] ?? "store_unavailable", message, hint, error);
}

const SYSTEM_CODES: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: "store_full",
  EDQUOT: "store_full",
  EROFS: "store_readonly",
};

function asSentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}

function usageHint(code: string, usage = "redrive COMMAND"): string {
  const isBeforeCommand = code === "commander.unknownOption" && usage.endsWith("[command]");
  const place = isBeforeCommand ? "Options come after their command. " : "";
  const command = usage.replace(/ [[<-].*$/, "");
  return `${place}Usage: ${usage} (${command} --help lists the options)`;
}
