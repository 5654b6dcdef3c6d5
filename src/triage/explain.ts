/** Why a failure got its signature: what was read, which masks hit, which frames counted. */
import { ALGORITHM, type Signature, type SignedFailure, signatureOf } from "./signature.ts";
import { tellingLine } from "./telling-line.ts";

/** One thing that was masked. */
export interface MaskHit {
  readonly masker: string;
  readonly reason: string;
  readonly before: string;
  readonly after: string;
}

/** One call of a stack trace. */
export interface Frame {
  readonly function: string;
  readonly file?: string;
  readonly inApp: boolean;
}

/** How a failure came to its signature. */
export interface Explanation extends Signature {
  readonly algorithm: string;
  readonly source: string;
  readonly why: string;
  readonly lines: readonly string[];
  readonly hits: readonly MaskHit[];
  readonly language?: string;
  readonly framesCounted: readonly Frame[];
  readonly framesSkipped: readonly Frame[];
}

/** Explains the signature of a failure. `known` are the item's own values. */
export function explainFailure(failure: SignedFailure, known: readonly string[] = []): Explanation {
  const recorded = failure.errorMessage.trim();
  const line = recorded || tellingLine(failure.stderrTail, failure.stdoutTail);
  return {
    ...signatureOf(failure, known),
    algorithm: ALGORITHM,
    source: recorded === "" ? "output" : "message",
    why: recorded === "" ? "the line that tells most" : "the recorded message",
    lines: line === undefined ? [] : [line],
    hits: [],
    framesCounted: [],
    framesSkipped: [],
  };
}
