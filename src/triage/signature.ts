/**
 * Computes the signature of a failure. The pattern is what people read, the signature is its hash. Both depend on nothing
 * but the recorded failure and the version of this algorithm: neither on earlier failures nor on the item's data.
 */
import { hash } from "node:crypto";
import { framesText } from "./frames/trace.ts";
import type { Hit } from "./mask/masker.ts";
import { normalise } from "./normalise.ts";
import { type Reading, readFailure, type SignedFailure } from "./reading.ts";

/** Changes whenever the same failure would get another pattern, so that old and new signatures never meet. */
export const ALGORITHM = "redrive-3";
const SIGNATURE_HEX_DIGITS = 16;

/** What a failure is grouped by. */
export interface Signature {
  /** 16 hex digits. */
  readonly signature: string;
  /** For example `CommandFailed::cargo test failed with exit code 101`. */
  readonly pattern: string;
}

export type { SignedFailure } from "./reading.ts";

/** The signature of a failure. */
export function signatureOf(failure: SignedFailure): Signature {
  return signReading(failure.errorType.name, readFailure(failure));
}

/** The signature of a failure that was read already. */
export function signReading(type: string, { message, counted }: Reading, hit?: Hit): Signature {
  const pattern = `${type}::${normalise(message, hit) || "(no message)"}${framesText(counted)}`;
  return { signature: hashOf(type, pattern), pattern };
}

/** A signature: the hash of the algorithm's version and what identifies a group. */
export function hashOf(...parts: readonly string[]): string {
  return hash("sha256", [ALGORITHM, ...parts].join("\n"), "hex").slice(0, SIGNATURE_HEX_DIGITS);
}
