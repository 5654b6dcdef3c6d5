/** Distinguishes errors in a caller's input from bugs. */
import { RedriveError } from "../errors.ts";

/** Returns an operating error, and rethrows anything else. */
export function asRedriveError(thrown: unknown): RedriveError {
  if (thrown instanceof RedriveError) return thrown;
  throw thrown;
}
