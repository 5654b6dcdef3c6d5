/**
 * Which failures are the same failure. The pattern is what people read, the signature its hash; both depend on
 * nothing but the recorded failure and the version of this algorithm, never on what was seen before.
 */
import { hash } from "node:crypto";
import { isJsonObject, type Json } from "../kit/json.ts";
import { framesText } from "./frames/trace.ts";
import type { Hit } from "./mask/masker.ts";
import { normalise } from "./normalise.ts";
import { type Reading, readFailure, type SignedFailure } from "./reading.ts";

/** Changes whenever the same failure would get another pattern, so that old and new signatures never meet. */
export const ALGORITHM = "redrive-2";
const SIGNATURE_HEX_DIGITS = 16;

/** What a failure is grouped by. */
export interface Signature {
  /** 16 hex digits. */
  readonly signature: string;
  /** For example `CommandFailed::cargo test failed with exit code 101`. */
  readonly pattern: string;
}

export type { SignedFailure } from "./reading.ts";

/** The signature of a failure. The item's own values, when given, are masked: they must not split a group. */
export function signatureOf(failure: SignedFailure, known: readonly string[] = []): Signature {
  return signReading(failure.errorType.name, readFailure(failure), known);
}

/** The signature of a failure that was read already. */
export function signReading(
  type: string,
  { message, counted }: Reading,
  known: readonly string[],
  hit?: Hit,
): Signature {
  const pattern = `${type}::${normalise(message, known, hit) || "(no message)"}${framesText(counted)}`;
  const digest = hash("sha256", `${ALGORITHM}\n${type}\n${pattern}`, "hex");
  return { signature: digest.slice(0, SIGNATURE_HEX_DIGITS), pattern };
}

const VALUES_MAX = 50;

/** The values of an item's data that may turn up in its messages: its strings and numbers, at any depth. */
export function knownValues(data: Json): readonly string[] {
  const values: string[] = [];
  const waiting: Json[] = [data];
  for (
    let value = waiting.shift();
    value !== undefined && values.length < VALUES_MAX;
    value = waiting.shift()
  ) {
    if (typeof value === "string" || typeof value === "number") values.push(String(value));
    else if (Array.isArray(value)) waiting.push(...value.slice(0, VALUES_MAX));
    else if (isJsonObject(value)) waiting.push(...Object.values(value).slice(0, VALUES_MAX));
  }
  return values;
}
