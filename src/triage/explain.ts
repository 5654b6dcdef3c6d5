/** Why a failure got its signature: what was read, which masks hit, which frames counted. Made of the same reading. */
import type { Frame } from "./frames/frame.ts";
import { MASKS } from "./mask/masks.ts";
import { containsLine, type Reading, readFailure, type SignedFailure, type Source } from "./reading.ts";
import { ALGORITHM, type Signature, signReading } from "./signature.ts";
import { pickTelling } from "./telling-line.ts";

/** One thing that was masked. */
export interface MaskHit {
  /** The mask without its angle brackets. */
  readonly masker: string;
  readonly reason: string;
  readonly before: string;
  readonly after: string;
}

/** How a failure came to its signature. */
export interface Explanation extends Signature {
  readonly algorithm: string;
  readonly source: Source;
  /** Why this was read, for people. */
  readonly why: string;
  /** What was read, as it was printed. */
  readonly lines: readonly string[];
  readonly hits: readonly MaskHit[];
  /** The language of the stack trace, when there is one. */
  readonly language?: string;
  readonly framesCounted: readonly Frame[];
  readonly framesSkipped: readonly Frame[];
}

const HITS_MAX = 200;

/** Explains the signature of a failure. */
export function explainFailure(failure: SignedFailure): Explanation {
  const read = readFailure(failure);
  const reading = read.source === "message" ? { ...read, ...pickedFor(failure) } : read;
  const hits: MaskHit[] = [];
  const signature = signReading(failure.errorType.name, reading, (masker, before, after) => {
    if (hits.length < HITS_MAX) hits.push({ masker, reason: MASKS[masker] ?? "", before, after });
  });
  return {
    ...signature,
    algorithm: ALGORITHM,
    source: reading.picked?.stream ?? reading.source,
    why: whyOf(reading),
    lines: reading.picked?.lines ?? (reading.message === "" ? [] : [reading.message]),
    hits,
    ...(reading.trace && { language: reading.trace.language }),
    framesCounted: reading.counted,
    framesSkipped: reading.skipped,
  };
}

/** Where in the output a recorded message has its words from. */
function pickedFor({ errorMessage, stderrTail, stdoutTail }: SignedFailure): Pick<Reading, "picked"> {
  const picked = pickTelling(stderrTail, stdoutTail);
  return picked && containsLine(errorMessage, picked.message) ? { picked } : {};
}

function whyOf({ source, picked, trace }: Reading): string {
  if (picked) return picked.why;
  if (source === "message") return "the recorded message";
  if (source === "none") return "the failure says nothing";
  return `the ${trace?.language ?? ""} stack trace in ${source === "stack trace" ? "the record" : source} names it`;
}
