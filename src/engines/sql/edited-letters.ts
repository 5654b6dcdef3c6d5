/**
 * Whether a letter may be retried was decided for the data that failed. So a letter that an edit gives other data becomes
 * eligible, and one that gets the failed data back is judged by its failure again. A poison letter stays as it is: it came back
 * too often, whatever its data was.
 */
import { type ErrorClass, type ErrorTypeName, reviewOf } from "../../item/error-type.ts";
import { canonicalJson, type Json, parseJson } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import type { Deltas } from "./deltas.ts";
import type { EventLog } from "./events.ts";
import { GroupCache, type LetterHeader } from "./group-cache.ts";
import { type GroupedLetter, moveLetters } from "./regroup.ts";

interface EditedLetter {
  readonly no: number;
  readonly data: Json;
}

/** Call after the amendments are written. Eligibility is a column of groups, so a letter whose eligibility changes moves. */
export function* judgeEdited(
  work: { readonly db: Db; readonly deltas: Deltas; readonly events: EventLog },
  edited: readonly EditedLetter[],
): Step<void> {
  if (edited.length === 0) return;
  const dataOf = new Map(edited.map(({ no, data }) => [no, canonicalJson(data)]));
  const rows = yield* work.db.all<Row>(rowSql(work.db), [...dataOf.keys()]);
  const moving = rows.flatMap((row) => {
    const isOther = canonicalJson(parseJson(row.failed_data ?? "null") as Json) !== dataOf.get(row.no);
    const judgement = isOther ? ELIGIBLE : judgementOf(row);
    const isSame = Number(judgement.reprocessEligible) === row.eligible;
    return isSame ? [] : [{ row, header: { ...headerOf(row), ...judgement } }];
  });
  yield* moveLetters({ ...work, groups: new GroupCache(work.db, work.events) }, moving);
}

const ELIGIBLE = { reprocessEligible: true, manualReviewRequired: false };

interface Row extends GroupedLetter {
  readonly pattern: string;
  readonly algorithm: string;
  readonly error_type: ErrorTypeName;
  readonly error_class: ErrorClass;
  readonly eligible: number;
  /** The data before the first edit of this letter. */
  readonly failed_data: string | null;
  readonly failure: string | null;
}

function rowSql({ sql }: Db): string {
  return `
    SELECT l.no, l.grp, l.buried_at, l.first_at, l.ref, g.queue, g.signature, g.pattern, g.algorithm, g.error_type,
           g.error_class, g.eligible, NULL AS counted, 1 AS is_waiting,
           (SELECT a.before FROM amendments a WHERE a.ref = l.ref AND a.letter = l.no ORDER BY a.revision LIMIT 1) AS failed_data,
           (SELECT a.failure FROM attempts a WHERE a.ref = l.ref AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1) AS failure
      FROM letters l ${sql.joinInOrder} groups g ON g.no = l.grp WHERE ${sql.among("l.no", "?")} AND l.poison = 0`;
}

function judgementOf({ error_type: name, error_class: errorClass, failure }: Row) {
  const recorded = parseJson(failure ?? "null") as { readonly error_message?: string } | null;
  return reviewOf({ errorType: { name }, errorClass, errorMessage: recorded?.error_message ?? "" });
}

function headerOf({ signature, pattern, algorithm, error_type, error_class }: Row) {
  return {
    signature,
    pattern,
    algorithm,
    errorType: error_type,
    errorClass: error_class,
  } satisfies Partial<LetterHeader>;
}
