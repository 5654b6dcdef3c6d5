/**
 * Which failures are the same failure. The pattern is what people read, the signature its hash; both depend on
 * nothing but the recorded failure and the version of this algorithm, never on what was seen before.
 */
import { createHash } from "node:crypto";
import type { Failure } from "../item/failure.ts";
import { isJsonObject, type Json } from "../kit/json.ts";
import { normalise } from "./normalise.ts";
import { tellingLine } from "./telling-line.ts";

/** Changes whenever the same failure would get another pattern, so that old and new signatures never meet. */
export const ALGORITHM = "redrive-1";
const SIGNATURE_HEX_DIGITS = 16;

/** What a failure is grouped by. */
export interface Signature {
  /** 16 hex digits. */
  readonly signature: string;
  /** For example `CommandFailed::cargo test failed with exit code 101`. */
  readonly pattern: string;
}

/** What of a failure its signature depends on. */
export type SignedFailure = Pick<Failure, "errorType" | "errorMessage" | "stderrTail" | "stdoutTail">;

/** The signature of a failure. The item's own values, when given, are masked: they must not split a group. */
export function signatureOf(failure: SignedFailure, known: readonly string[] = []): Signature {
  const type = failure.errorType.name;
  const message = failure.errorMessage.trim() || tellingLine(failure.stderrTail, failure.stdoutTail);
  const pattern = `${type}::${normalise(message ?? "", known) || "(no message)"}`;
  const hash = createHash("sha256").update(`${ALGORITHM}\n${type}\n${pattern}`);
  return { signature: hash.digest("hex").slice(0, SIGNATURE_HEX_DIGITS), pattern };
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
