/** What failed attempts left, as a text that one statement reads for many items. */
import { type FailureHistory, readFailure } from "../sql/attempts.ts";

/** Stands between attempts: a character that is nowhere in JSON as it is written. */
const BETWEEN = "\u001e";

/**
 * The attempts of an item that failed, as one text for `historyOf`; null when there are none. Text is much of a failure,
 * and is left out where it is not wanted, as where no failure was described.
 */
export function attemptsSql(ref: string, withFailures: boolean): string {
  const columns = withFailures ? "a.ended_at, a.failure" : "a.ended_at";
  return `(SELECT string_agg(concat_ws(' ', ${columns}), '${BETWEEN}' ORDER BY a.number)
             FROM attempts a WHERE a.ref = ${ref} AND a.outcome IN ('failed', 'lost'))`;
}

/** What is not told is empty. */
export function historyOf(attempts: string | null, lastFailure: string | null): FailureHistory {
  const failed = attempts === null ? [] : attempts.split(BETWEEN).map(attemptIn);
  const texts = lastFailure === null ? failed.map(({ failure }) => failure) : [lastFailure];
  return {
    lastAttempt: failed.at(-1)?.endedAt ?? 0,
    failureCount: failed.length,
    failures: texts.filter((text) => text !== "").map(readFailure),
  };
}

function attemptIn(text: string): { endedAt: number; failure: string } {
  const [end] = text.split(" ", 1);
  return { endedAt: Number(end), failure: text.slice((end?.length ?? 0) + 1) };
}
