/**
 * Derives the type, class and message of a failure. Structured facts come first: timeout, start error, report, signal, exit
 * code, errno, protocol status. Message texts come last, because they vary with language and version.
 */
import { classOfType, type ErrorClass, type ErrorType, type ErrorTypeName } from "../item/error-type.ts";
import { formatDuration } from "../std/duration.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import { errorLine } from "../triage/error-line.ts";
import { traceTextFor } from "../triage/frames/trace.ts";
import type { ReportedFailure } from "./reported-failure.ts";

export function classify(facts: FailureFacts): Classified {
  const kind = reportedKind(facts) ?? observedKind(facts);
  const { name, fields, errorClass = classOfType(name) } = kind;
  const errorType: ErrorType = fields && Object.keys(fields).length > 0 ? { name, fields } : { name };
  return { errorType, errorClass, message: failureMessage(facts) };
}

export function printedTrace(message: string, { stderrTail, stdoutTail }: FailureFacts): string | undefined {
  return traceTextFor(message, [stderrTail, stdoutTail]);
}

/** A command's report overrides its exit code, but not a timeout, which the command cannot observe. */
function reportedKind(facts: FailureFacts): Kind | undefined {
  const { reported } = facts;
  if (!reported || facts.timedOutMs !== undefined || facts.startError !== undefined) return undefined;
  if (reported.type === undefined && reported.class === undefined) return undefined;
  const observed = observedKind(facts);
  const errorClass = reported.class ?? (reported.type ? classOfType(reported.type.name) : undefined);
  const { name, fields } = reported.type ?? observed;
  const merged = name === observed.name ? { ...observed.fields, ...fields } : fields;
  return compact({ name, errorClass, fields: merged }) as Kind;
}

function observedKind(facts: FailureFacts): Kind {
  const { timedOutMs, startError, signal, exitCode, errno, httpStatus, jsonRpcCode } = facts;
  if (timedOutMs !== undefined) return { name: "Timeout" };
  if (startError !== undefined) return withCommand(startErrorKind(startError), facts);
  if (signal !== undefined) return withCommand(signalKind(signal), facts);
  if (exitCode !== undefined) return withCommand(exitCodeKind(exitCode, facts), facts);
  const isErrorStatus = httpStatus !== undefined && httpStatus >= 300;
  if (jsonRpcCode !== undefined && !isErrorStatus) return classifyJsonRpc(jsonRpcCode);
  if (httpStatus !== undefined) return classifyHttp(httpStatus);
  return (errno === undefined ? undefined : errnoKind(errno)) ?? textKind(facts);
}

/** Adds the command to CommandFailed, the only type with a field for it. */
function withCommand(kind: Kind, { command }: FailureFacts): Kind {
  if (kind.name !== "CommandFailed" || command === undefined) return kind;
  return { ...kind, fields: { ...kind.fields, command: oneLine(command, 200) } };
}

/** Start errors that a retry cannot change. A shortage of resources is temporary. */
const PERMANENT_ERRNOS = ["ENOENT", "ENOEXEC", "ENOTDIR", "E2BIG", "ELOOP", "ENAMETOOLONG", "EISDIR"];

function startErrorKind(errno: string): Kind {
  const kind = errnoKind(errno) ?? { name: "CommandFailed", fields: { errno } };
  return PERMANENT_ERRNOS.includes(errno) ? { ...kind, errorClass: "permanent" } : kind;
}

const ERRNOS: Readonly<Partial<Record<ErrorTypeName, readonly string[]>>> = {
  PermissionError: ["EACCES", "EPERM"],
  ResourceExhausted: ["ENOMEM", "EAGAIN", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT"],
  Timeout: ["ETIMEDOUT"],
  TransportError: "ECONNREFUSED ECONNRESET EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN EPIPE".split(" "),
};
const ERRNO_TYPE: ReadonlyMap<string, ErrorTypeName> = new Map(
  Object.entries(ERRNOS).flatMap(([name, errnos]) => errnos.map((errno) => [errno, name as ErrorTypeName])),
);

function errnoKind(errno: string): Kind | undefined {
  const name = ERRNO_TYPE.get(errno);
  return name === undefined ? undefined : { name, fields: { errno } };
}

/** Treats SIGKILL as memory exhaustion: Redrive did not send it, and the usual sender is the kernel's OOM killer. */
function signalKind(signal: string): Kind {
  return signal === "SIGKILL" ? { name: "ResourceExhausted" } : { name: "CommandFailed", fields: { signal } };
}

const EX_TEMPFAIL = 75;
const EX_NOPERM = 77;
/** The exit code of a shell whose command got a SIGKILL: 128 + 9. */
const KILLED_EXIT_CODE = 137;

/**
 * Uses only the sysexits.h codes 75 (try again) and 77 (not permitted). Many programs use the other codes differently, and
 * burying an item that a retry would have saved is worse than a useless retry. The error line decides about other codes.
 */
function exitCodeKind(exitCode: number, { stderrTail = "", stdoutTail = "" }: FailureFacts): Kind {
  const fields = { exit_code: exitCode };
  if (exitCode === EX_NOPERM) return { name: "PermissionError", fields };
  if (exitCode === EX_TEMPFAIL) return { name: "CommandFailed", errorClass: "transient", fields };
  if (exitCode === KILLED_EXIT_CODE && mentionsKill(stderrTail)) return { name: "ResourceExhausted" };
  const name = typeOfErrorLine(errorLine(stderrTail, stdoutTail) ?? "");
  return name === null ? { name: "CommandFailed", fields } : { name };
}

/** Classifies by the message, if there is nothing else. */
function textKind(facts: FailureFacts): Kind {
  const text = (facts.message ?? "").slice(0, TEXT_CHARS_MAX);
  const name = typeOfErrorLine(text);
  if (name !== null) return { name };
  if (/timed? ?out/i.test(text)) return { name: "Timeout" };
  return facts.command === undefined ? { name: "Unknown" } : withCommand({ name: "CommandFailed" }, facts);
}
const TEXT_CHARS_MAX = 4096;

export function classifyHttp(status: number): Kind {
  const fields = { http_status: status };
  if (status === 408) return { name: "Timeout", fields };
  if (status === 425) return { name: "ClientError", errorClass: "transient", fields };
  if (status === 429) return { name: "RateLimited", fields };
  if (status === 401 || status === 403) return { name: "PermissionError", fields };
  if (status === 503) return { name: "ServerError", errorClass: "outage", fields };
  if (status >= 500 && status <= 599) return { name: "ServerError", fields };
  if (status >= 400 && status <= 499) return { name: "ClientError", fields };
  return { name: "Unknown", fields }; // an unexpected redirect or success
}

const INVALID_CALL: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602]);
const INTERNAL_ERROR = -32603;

/** Maps the codes of the JSON-RPC 2.0 specification. All other codes belong to the application. */
export function classifyJsonRpc(code: number): Kind {
  const fields = { json_rpc_code: code };
  if (INVALID_CALL.has(code)) return { name: "ClientError", fields };
  if (code === INTERNAL_ERROR) return { name: "ServerError", fields };
  if (code >= -32099 && code <= -32000) return { name: "ServerError", errorClass: "unknown", fields };
  return { name: "Unknown", fields };
}

/**
 * Patterns for the error line: texts of strerror(3) and error names of runtimes. The first match wins. Earlier lines, such
 * as warnings, are not searched. docs/11-troubleshooting.md lists these rules.
 */
const OUTPUT_RULES: readonly { readonly type: ErrorTypeName; readonly shape: RegExp }[] = [
  {
    type: "PermissionError",
    shape: /\bpermission denied\b|\baccess (?:is )?denied\b|\boperation not permitted\b|\bE(?:ACCES|PERM)\b/i,
  },
  {
    type: "ResourceExhausted",
    shape:
      /\bno space left on device\b|\bdisk quota exceeded\b|\bcannot allocate memory\b|\bout of memory\b|\btoo many open files\b|\bE(?:NOSPC|DQUOT|NOMEM|MFILE|NFILE)\b/i,
  },
  { type: "Timeout", shape: /\btimed out\b|\bETIMEDOUT\b/i },
];

function typeOfErrorLine(line: string): ErrorTypeName | null {
  return OUTPUT_RULES.find(({ shape }) => shape.test(line))?.type ?? null;
}

const KILLED = /\bKilled\b|\bout of memory\b|\boom[-_ ]?kill/i;
const KILLED_CHARS_MAX = 2000;

/** Shells print "Killed" for a process that SIGKILL ended. */
function mentionsKill(output: string): boolean {
  return KILLED.test(output.slice(-KILLED_CHARS_MAX));
}

export interface FailureFacts {
  readonly timedOutMs?: number;
  readonly exitCode?: number;
  /** The signal that ended the command, e.g. `SIGKILL`. */
  readonly signal?: string;
  /** The errno name of the failure to start the command, e.g. `ENOENT`. */
  readonly startError?: string;
  /** The errno name of an error that a function threw, e.g. `ECONNRESET`. */
  readonly errno?: string;
  /** The report that the command wrote into REDRIVE_FAILURE_FILE. */
  readonly reported?: ReportedFailure;
  readonly httpStatus?: number;
  readonly jsonRpcCode?: number;
  readonly stderrTail?: string;
  readonly stdoutTail?: string;
  /** The display form of the command, e.g. `cargo test`. */
  readonly command?: string;
  /** A message from the source of the failure, such as the message of a thrown error. */
  readonly message?: string;
}

export interface Classified {
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  /** A one-line message. */
  readonly message: string;
}

/** The type, class and fields of a failure. Default class: the default of the type. */
export interface Kind {
  readonly name: ErrorTypeName;
  readonly errorClass?: ErrorClass;
  readonly fields?: JsonObject;
}

const MESSAGE_CHARS_MAX = 600;
const COMMAND_CHARS_MAX = 120;

/** Builds one non-empty line, e.g. `cargo test failed with exit code 101: …`. A reported message takes precedence. */
function failureMessage(facts: FailureFacts): string {
  const { reported, timedOutMs, startError } = facts;
  const command = oneLine(facts.command ?? "", COMMAND_CHARS_MAX) || "the command";
  if (startError !== undefined) return startMessage(command, startError);
  const line = errorLine(facts.stderrTail, facts.stdoutTail);
  const ended = `${command} ${howItEnded(facts)}${line ? `: ${line}` : ""}`;
  const late = `${command} timed out after ${formatDuration(timedOutMs ?? 0)}`;
  const observed = timedOutMs === undefined ? ended : oneLine(facts.message ?? "", MESSAGE_CHARS_MAX) || late;
  const base = timedOutMs === undefined ? (reported?.message ?? facts.message ?? observed) : observed;
  const problem = reported?.problem === undefined ? "" : ` (${reported.problem})`;
  const charsMax = MESSAGE_CHARS_MAX - problem.length;
  return (oneLine(base, charsMax) || oneLine(observed, charsMax)) + problem; // empty after removing control characters
}

function howItEnded({ signal, exitCode, httpStatus, jsonRpcCode, errno }: FailureFacts): string {
  if (signal !== undefined) return `was killed by ${signal}`;
  const name = SIGNAL_NAMES[(exitCode ?? 0) - 128];
  if (exitCode !== undefined) return `failed with exit code ${exitCode}${name ? ` (${name})` : ""}`;
  if (jsonRpcCode !== undefined) return `was answered with JSON-RPC error code ${jsonRpcCode}`;
  if (httpStatus !== undefined) return `was answered with HTTP ${httpStatus}`;
  return errno === undefined ? "failed" : `failed with ${errno}`;
}

/** Signals with the same number on Linux and macOS, so that messages do not depend on the machine. */
const SIGNAL_NAMES: Readonly<Record<number, string>> = {
  ...{ 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL" },
  ...{ 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM" },
};

const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: "the command does not exist, or its working directory was deleted; check the spelling and PATH",
  ENOEXEC: "it is not a program; add a #! line, or give its interpreter",
  ENOTDIR: "a part of its path is not a directory",
  E2BIG: "the item is too large for an argument; omit it from the arguments and read it from stdin",
  EACCES: "permission denied; make it executable (chmod +x), and check the permissions of its directory",
  EPERM: "not permitted",
  ENOMEM: "the machine is out of memory; run fewer items at a time (--concurrency)",
  EAGAIN: "the process limit is reached; run fewer items at a time (--concurrency), or raise ulimit -u",
  EMFILE: "too many files are open; run fewer items at a time (--concurrency), or raise ulimit -n",
  ENFILE: "the machine has too many open files; run fewer items at a time (--concurrency)",
  ENOSPC: "no space is left on the disk; free some space",
};

function startMessage(command: string, errno: string): string {
  const advice = Object.hasOwn(ADVICE, errno) ? ADVICE[errno] : undefined;
  return `${command} cannot be started (${oneLine(errno, 40)})${advice ? `: ${advice}` : ""}`;
}
