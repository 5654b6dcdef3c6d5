/** Computes the signature of a failure: the hash of its canonical pattern. Depends only on the failure and the version. */
import { hash } from "node:crypto";
import { isErrorTypeName } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import { canonicalPattern } from "./canonical/canonical-pattern.ts";
import { type Picked, pickErrorLine } from "./error-line.ts";
import type { Frame, Trace } from "./frames/frame.ts";
import { containsLine, countFrames, FRAMES_START, framesText, readTrace } from "./frames/trace.ts";
import type { Hit } from "./mask/masker.ts";
import { normalise } from "./normalise.ts";

/** Must change whenever the same failure would get another pattern, so that old and new signatures never collide. */
export const ALGORITHM = "redrive-6";
const SIGNATURE_HEX_DIGITS = 16;

/** The signature and the pattern by which a failure is grouped. */
export interface Signature {
  /** 16 hex digits. */
  readonly signature: string;
  /** For example `CommandFailed::cargo test failed with exit code 101`. */
  readonly pattern: string;
}

/** Computes the pattern and the signature of a failure. Pure: the same failure always has the same signature. */
export function signatureOf(failure: SignedFailure): Signature {
  return signReading(failure.errorType.name, readFailure(failure));
}

/** Computes the signature from the result of `readFailure`. */
export function signReading(type: string, { message, counted }: Reading, hit?: Hit): Signature {
  const text = normalise(message, hit) || "(no message)";
  const frames = framesText(counted);
  const pattern = `${type}::${text}${frames}`;
  const key = frames === "" ? pattern : `${pattern}\n${frames}`;
  const known = signatures.get(key);
  if (known !== undefined) return { signature: known, pattern };
  const signature = hashOf(type, canonicalPattern(text), frames);
  if (key.length <= KNOWN_CHARS_MAX) {
    if (signatures.size === KNOWN_MAX) signatures.clear();
    signatures.set(key, signature);
  }
  return { signature, pattern };
}

/** Most failures repeat a pattern. Keeping the latest patterns saves a third of the time and changes no signature. */
const signatures = new Map<string, string>();
const KNOWN_MAX = 2048;
const KNOWN_CHARS_MAX = 500;

/** The parts of a pattern. */
export interface PatternParts {
  readonly type: string;
  readonly message: string;
  /** For example ` (in loadConfig < main)`; empty if there are none. */
  readonly frames: string;
}

/** Splits a pattern; undefined for a name that a rule or a person gave. */
export function splitPattern(pattern: string): PatternParts | undefined {
  const end = pattern.indexOf("::");
  const type = pattern.slice(0, Math.max(0, end));
  if (!isErrorTypeName(type)) return undefined;
  const rest = pattern.slice(end + 2);
  const at = rest.endsWith(")") ? rest.lastIndexOf(FRAMES_START) : -1;
  return at < 0
    ? { type, message: rest, frames: "" }
    : { type, message: rest.slice(0, at), frames: rest.slice(at) };
}

/** Computes the signature of failures with this pattern, which may be from an older version; undefined for a name. */
export function signatureOfPattern(pattern: string): string | undefined {
  const parts = splitPattern(pattern);
  return parts && hashOf(parts.type, canonicalPattern(normalise(parts.message)), parts.frames);
}

/** Hashes the algorithm's version with the parts that identify a group. */
export function hashOf(...parts: readonly string[]): string {
  return hash("sha256", [ALGORITHM, ...parts].join("\n"), "hex").slice(0, SIGNATURE_HEX_DIGITS);
}

/** The parts of a failure that determine its signature. */
export type SignedFailure = Pick<
  Failure,
  "errorType" | "errorMessage" | "stderrTail" | "stdoutTail" | "stackTrace"
>;

export type Source = "message" | "stack trace" | "stderr" | "stdout" | "none";

export interface Reading {
  readonly source: Source;
  /** Empty when the failure has neither a message nor output. */
  readonly message: string;
  readonly picked?: Picked;
  readonly trace?: Trace;
  readonly counted: readonly Frame[];
  readonly skipped: readonly Frame[];
}

/** Reads the recorded message, or else the stack trace, or else the output. Explanations use the same result. */
export function readFailure(failure: SignedFailure): Reading {
  const message = failure.errorMessage.trim();
  if (message === "") return readOutput(failure);
  const trace = traceFor(message, failure);
  if (trace) return withFrames("message", message, trace);
  const own = MAY_BE_TRACE.test(message) ? readTrace(message) : undefined;
  return own && own.headline !== ""
    ? withFrames("message", own.headline, own)
    : withoutFrames("message", message);
}

/** A recorded message may itself be a stack trace, or a line of a kernel's log, which begins with its time. */
const MAY_BE_TRACE = /\n|^\[ {0,8}\d{1,8}\.\d{3,6}\]|\+0x[\da-f]{1,8}\/0x/;

function readOutput({ stackTrace, stderrTail, stdoutTail }: SignedFailure): Reading {
  for (const [source, text] of [
    ["stack trace", stackTrace],
    ["stderr", stderrTail],
    ["stdout", stdoutTail],
  ] as const) {
    const trace = text ? readTrace(text) : undefined;
    if (trace && trace.headline !== "") return withFrames(source, trace.headline, trace);
  }
  const picked = pickErrorLine(stderrTail, stdoutTail);
  return picked ? { ...withoutFrames(picked.stream, picked.message), picked } : withoutFrames("none", "");
}

function withFrames(source: Source, message: string, trace: Trace): Reading {
  return { source, message, trace, ...countFrames(trace) };
}

const NO_FRAMES: readonly Frame[] = [];

function withoutFrames(source: Source, message: string): Reading {
  return { source, message, counted: NO_FRAMES, skipped: NO_FRAMES };
}

/** Returns the stack trace of a message: the recorded one, or one in the output with the same headline. */
function traceFor(message: string, { stackTrace, stderrTail, stdoutTail }: SignedFailure): Trace | undefined {
  const recorded = stackTrace ? readTrace(stackTrace) : undefined;
  return recorded ?? traceOfMessage(message, stderrTail) ?? traceOfMessage(message, stdoutTail);
}

function traceOfMessage(message: string, output: string | undefined): Trace | undefined {
  const trace = output ? readTrace(output) : undefined;
  return trace && containsLine(message, trace.headline) ? trace : undefined;
}
