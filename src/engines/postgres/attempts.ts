/** Encodes the failed attempts of an item as one text, so that one statement reads them for many items. */
import { type FailureHistory, readFailure } from "../sql/attempts.ts";

/** Separates attempts. JSON text never contains this character unescaped. */
const BETWEEN = "\u001e";

/**
 * An expression for the failed attempts of an item as one text; null if there are none. Failures are large, so they are
 * optional.
 */
export function attemptsSql(ref: string, withFailures: boolean): string {
  const columns = withFailures ? "a.ended_at, a.failure" : "a.ended_at";
  return `(SELECT string_agg(concat_ws(' ', ${columns}), '${BETWEEN}' ORDER BY a.number)
             FROM attempts a WHERE a.ref = ${ref} AND a.outcome IN ('failed', 'lost'))`;
}

/** Decodes the text of `attemptsSql`. Parts that were not read are empty. `lastFailure` replaces all failures. */
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
