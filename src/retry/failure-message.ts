/** The one line that says what went wrong, e.g. `cargo test failed with exit code 101: error[E0308]: mismatched types`. */
import { formatDuration } from "../kit/duration.ts";
import { oneLine } from "../triage/clean.ts";
import { tellingLine } from "../triage/telling-line.ts";
import type { Signs } from "./signs.ts";

const MESSAGE_CHARS_MAX = 600;
const COMMAND_CHARS_MAX = 120;

/** Never empty, always one line. What a command reported about itself is taken over what was observed. */
export function failureMessage(signs: Signs): string {
  const { reported, timedOutMs, startError } = signs;
  const command = oneLine(signs.command ?? "", COMMAND_CHARS_MAX) || "the command";
  if (startError !== undefined) return startMessage(command, startError);
  const observed = timedOutMs === undefined ? endMessage(command, signs) : timeoutMessage(command, signs);
  const base = timedOutMs === undefined ? (reported?.message ?? signs.message ?? observed) : observed;
  const problem = reported?.problem === undefined ? "" : ` (${reported.problem})`;
  const charsMax = MESSAGE_CHARS_MAX - problem.length;
  return (oneLine(base, charsMax) || oneLine(observed, charsMax)) + problem; // of control characters nothing is left
}

function timeoutMessage(command: string, { timedOutMs = 0, message }: Signs): string {
  return (
    oneLine(message ?? "", MESSAGE_CHARS_MAX) || `${command} timed out after ${formatDuration(timedOutMs)}`
  );
}

function endMessage(command: string, signs: Signs): string {
  const said = tellingLine(signs.stderrTail, signs.stdoutTail);
  return `${command} ${howItEnded(signs)}${said ? `: ${said}` : ""}`;
}

function howItEnded({ signal, exitCode, httpStatus, jsonRpcCode, errno }: Signs): string {
  if (signal !== undefined) return `was killed by ${signal}`;
  if (exitCode !== undefined) return `failed with exit code ${exitCode}${passedOnSignal(exitCode)}`;
  if (jsonRpcCode !== undefined) return `was answered with JSON-RPC error code ${jsonRpcCode}`;
  if (httpStatus !== undefined) return `was answered with HTTP ${httpStatus}`;
  return errno === undefined ? "failed" : `failed with ${errno}`;
}

/** The signals with the same number on Linux and macOS, so that a message does not depend on the machine. */
const SIGNAL_NAMES: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
};

function passedOnSignal(exitCode: number): string {
  const name = SIGNAL_NAMES[exitCode - 128];
  return name === undefined ? "" : ` (${name})`;
}

/** What to do about a command that cannot be started. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: "there is no such command, or its working directory is gone; check the spelling and PATH",
  ENOEXEC: "it is not a program; give it a #! line, or name its interpreter",
  ENOTDIR: "a part of its path is not a directory",
  E2BIG: "the item is too large for an argument; leave it out of the arguments and read it from stdin",
  EACCES: "permission denied; make it executable (chmod +x), and check who may enter its directory",
  EPERM: "not permitted",
  ENOMEM: "the machine is out of memory; run fewer at a time (--jobs)",
  EAGAIN: "the limit of processes is reached; run fewer at a time (--jobs), or raise ulimit -u",
  EMFILE: "too many files are open; run fewer at a time (--jobs), or raise ulimit -n",
  ENFILE: "the machine has too many files open; run fewer at a time (--jobs)",
  ENOSPC: "no space is left on the disk; make room",
};

function startMessage(command: string, errno: string): string {
  const advice = Object.hasOwn(ADVICE, errno) ? ADVICE[errno] : undefined;
  return `${command} cannot be started (${oneLine(errno, 40)})${advice ? `: ${advice}` : ""}`;
}
