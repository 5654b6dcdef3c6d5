/**
 * From the signs of a failure to its type, class and message. Structure decides: what the runner knows (timeout,
 * start error), then what the command reported, then signal, exit code, errno and protocol status. The text of an output or
 * a message is read only where structure says no more than "failed", because text changes with language and version.
 */
import type { ErrorType, ErrorTypeName } from "../item/error-type.ts";
import { compact } from "../item/failure.ts";
import { oneLine } from "../triage/clean.ts";
import { traceTextFor } from "../triage/frames/trace-text.ts";
import { tellingLine } from "../triage/telling-line.ts";
import { CLASS_OF_TYPE } from "./class-of-type.ts";
import { failureMessage } from "./failure-message.ts";
import { saysKilled, typeOfErrorLine } from "./output-rules.ts";
import { classifyHttp, classifyJsonRpc } from "./protocol-status.ts";
import type { Classified, Kind, Signs } from "./signs.ts";

/** The type, class and message of a failure. */
export function classify(signs: Signs): Classified {
  const kind = reportedKind(signs) ?? observedKind(signs);
  const { name, fields, errorClass = CLASS_OF_TYPE[name] } = kind;
  const errorType: ErrorType = fields && Object.keys(fields).length > 0 ? { name, fields } : { name };
  return { errorType, errorClass, message: failureMessage(signs) };
}

/** The stack trace that a command printed for the failure with this message; undefined when it printed none. */
export function printedTrace(message: string, { stderrTail, stdoutTail }: Signs): string | undefined {
  return traceTextFor(message, [stderrTail, stdoutTail]);
}

/** A command's own word beats its exit code, but not a time limit it did not know of. */
function reportedKind(signs: Signs): Kind | undefined {
  const { reported } = signs;
  if (!reported || signs.timedOutMs !== undefined || signs.startError !== undefined) return undefined;
  if (reported.type === undefined && reported.class === undefined) return undefined;
  const observed = observedKind(signs);
  const errorClass = reported.class ?? (reported.type ? CLASS_OF_TYPE[reported.type.name] : undefined);
  const { name, fields } = reported.type ?? observed;
  const facts = name === observed.name ? { ...observed.fields, ...fields } : fields;
  return compact({ name, errorClass, fields: facts }) as Kind;
}

function observedKind(signs: Signs): Kind {
  const { timedOutMs, startError, signal, exitCode, errno, httpStatus, jsonRpcCode } = signs;
  if (timedOutMs !== undefined) return { name: "Timeout" };
  if (startError !== undefined) return withCommand(startErrorKind(startError), signs);
  if (signal !== undefined) return withCommand(signalKind(signal), signs);
  if (exitCode !== undefined) return withCommand(exitCodeKind(exitCode, signs), signs);
  if (jsonRpcCode !== undefined && !isErrorStatus(httpStatus)) return classifyJsonRpc(jsonRpcCode);
  if (httpStatus !== undefined) return classifyHttp(httpStatus);
  const known = errno === undefined ? undefined : errnoKind(errno);
  return known ?? textKind(signs);
}

function isErrorStatus(httpStatus: number | undefined): boolean {
  return httpStatus !== undefined && httpStatus >= 300;
}

/** Only CommandFailed says which command it was, as the sources write it. */
function withCommand(kind: Kind, { command }: Signs): Kind {
  if (kind.name !== "CommandFailed" || command === undefined) return kind;
  return { ...kind, fields: { ...kind.fields, command: oneLine(command, 200) } };
}

/** Running short of something passes; a command that is not there stays away however often it is started. */
function startErrorKind(errno: string): Kind {
  const permanent = ["ENOENT", "ENOEXEC", "ENOTDIR", "E2BIG", "ELOOP", "ENAMETOOLONG", "EISDIR"];
  const fields = { errno };
  return errnoKind(errno) ?? { name: "CommandFailed", fields, ...(permanent.includes(errno) && PERMANENT) };
}
const PERMANENT = { errorClass: "permanent" } as const;

const ERRNO_TYPE: Readonly<Record<string, ErrorTypeName>> = {
  EACCES: "PermissionError",
  EPERM: "PermissionError",
  ENOMEM: "ResourceExhausted",
  EAGAIN: "ResourceExhausted",
  EMFILE: "ResourceExhausted",
  ENFILE: "ResourceExhausted",
  ENOSPC: "ResourceExhausted",
  EDQUOT: "ResourceExhausted",
  ETIMEDOUT: "Timeout",
  ECONNREFUSED: "TransportError",
  ECONNRESET: "TransportError",
  EHOSTUNREACH: "TransportError",
  ENETUNREACH: "TransportError",
  ENOTFOUND: "TransportError",
  EAI_AGAIN: "TransportError",
  EPIPE: "TransportError",
};

function errnoKind(errno: string): Kind | undefined {
  const name = Object.hasOwn(ERRNO_TYPE, errno) ? ERRNO_TYPE[errno] : undefined;
  return name === undefined ? undefined : { name, fields: { errno } };
}

/**
 * A SIGKILL that ends an attempt is not Redrive's own: one after a time limit is a Timeout, one of a stop is no failure. The
 * usual sender is the kernel, out of memory.
 */
function signalKind(signal: string): Kind {
  return signal === "SIGKILL" ? { name: "ResourceExhausted" } : { name: "CommandFailed", fields: { signal } };
}

const EX_TEMPFAIL = 75;
const EX_NOPERM = 77;
/** How a shell passes on a SIGKILL: 128 + 9. */
const KILLED_EXIT_CODE = 137;

/**
 * Of the codes of sysexits.h only two are believed. 75 says "try again", which costs nothing when it is wrong; 77 says
 * "not permitted", which trying again does not change. 64 and 65 (usage, data) are not: plenty of programs
 * exit with them for their own reasons, and burying an item that a retry would have saved is the dearer mistake.
 * A command that means it reports `{"class": "permanent"}`. A code says little, so the error line is read too.
 */
function exitCodeKind(exitCode: number, { stderrTail = "", stdoutTail = "" }: Signs): Kind {
  const fields = { exit_code: exitCode };
  if (exitCode === EX_NOPERM) return { name: "PermissionError", fields };
  if (exitCode === EX_TEMPFAIL) return { name: "CommandFailed", errorClass: "transient", fields };
  if (exitCode === KILLED_EXIT_CODE && saysKilled(stderrTail)) return { name: "ResourceExhausted" };
  const name = typeOfErrorLine(tellingLine(stderrTail, stdoutTail) ?? "");
  return name === null ? { name: "CommandFailed", fields } : { name };
}

/** The last resort: the words of a message, when it is all there is. */
function textKind(signs: Signs): Kind {
  const text = (signs.message ?? "").slice(0, TEXT_CHARS_MAX);
  const name = typeOfErrorLine(text);
  if (name !== null) return { name };
  if (/timed? ?out/i.test(text)) return { name: "Timeout" };
  return signs.command === undefined ? { name: "Unknown" } : withCommand({ name: "CommandFailed" }, signs);
}
const TEXT_CHARS_MAX = 4096;
