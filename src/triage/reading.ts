/**
 * What a failure record says, before anything is masked: the message, and the frames of its stack trace. Signatures and
 * explanations are both made of this, so that an explanation can never tell of another failure.
 */
import type { Failure } from "../item/failure.ts";
import type { Frame, Trace } from "./frames/frame.ts";
import { countFrames, readTrace } from "./frames/trace.ts";
import { type Picked, pickTelling } from "./telling-line.ts";

/** What of a failure its signature depends on. */
export type SignedFailure = Pick<
  Failure,
  "errorType" | "errorMessage" | "stderrTail" | "stdoutTail" | "stackTrace"
>;

/** Where the message comes from. */
export type Source = "message" | "stack trace" | "stderr" | "stdout" | "none";

export interface Reading {
  readonly source: Source;
  /** Empty when the failure says nothing. */
  readonly message: string;
  /** The lines of the output that tell what failed, when the output was asked. */
  readonly picked?: Picked;
  readonly trace?: Trace;
  readonly counted: readonly Frame[];
  readonly skipped: readonly Frame[];
}

/** Reads a failure. The recorded message goes first; without one its stack trace speaks, then its output. */
export function readFailure(failure: SignedFailure): Reading {
  const message = failure.errorMessage.trim();
  if (message === "") return readOutput(failure);
  const trace = traceFor(message, failure);
  return trace ? withFrames("message", message, trace) : withoutFrames("message", message);
}

function readOutput({ stackTrace, stderrTail, stdoutTail }: SignedFailure): Reading {
  for (const [source, text] of [
    ["stack trace", stackTrace],
    ["stderr", stderrTail],
    ["stdout", stdoutTail],
  ] as const) {
    const trace = text ? readTrace(text) : undefined;
    if (trace && trace.headline !== "") return withFrames(source, trace.headline, trace);
  }
  const picked = pickTelling(stderrTail, stdoutTail);
  return picked ? { ...withoutFrames(picked.stream, picked.message), picked } : withoutFrames("none", "");
}

function withFrames(source: Source, message: string, trace: Trace): Reading {
  return { source, message, trace, ...countFrames(trace) };
}

const NO_FRAMES: readonly Frame[] = [];

function withoutFrames(source: Source, message: string): Reading {
  return { source, message, counted: NO_FRAMES, skipped: NO_FRAMES };
}

/** The trace that belongs to a message: the recorded one, or one in the output that names the same failure. */
function traceFor(message: string, { stackTrace, stderrTail, stdoutTail }: SignedFailure): Trace | undefined {
  const recorded = stackTrace ? readTrace(stackTrace) : undefined;
  return recorded ?? toldTrace(message, stderrTail) ?? toldTrace(message, stdoutTail);
}

function toldTrace(message: string, output: string | undefined): Trace | undefined {
  const trace = output ? readTrace(output) : undefined;
  return trace && containsLine(message, trace.headline) ? trace : undefined;
}

const COMPARED_CHARS_MAX = 80;

/** Whether a message contains a line of output. It may be cut and its blanks joined, so that the beginning is enough. */
export function containsLine(message: string, line: string): boolean {
  const start = line.replace(/\s+/g, " ").trim().slice(0, COMPARED_CHARS_MAX);
  return start !== "" && message.includes(start);
}
