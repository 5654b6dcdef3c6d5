/** Amendments: a new revision of an item's data, with the previous data. */
import { reviewOf } from "../../../src/item/error-type.ts";
import type { EventDraft } from "../../../src/item/event.ts";
import type { Amendment } from "../../../src/item/letter.ts";
import { amendmentEvent, type LetterStep } from "../../../src/item/operation.ts";
import { canonicalJson, compact } from "../../../src/std/json.ts";
import { burialOf } from "./bury.ts";
import { lastMessage, moveLetter } from "./regroup.ts";
import { frozenCopy, type Row, type Store } from "./store.ts";

/** Returns the event of the amendment. Equal data creates neither a revision nor an event. */
export function amend(
  store: Store,
  row: Row,
  by: { readonly given: LetterStep; readonly author: string; readonly operationId: string },
): readonly EventDraft[] {
  const { data = null, rule, note } = by.given;
  if (canonicalJson(data) === canonicalJson(row.data)) return [];
  const { author, operationId } = by;
  const revision = row.revision + 1;
  const amendment = { revision, at: store.now, author, rule, note, operationId, before: row.data };
  const made: Amendment = frozenCopy(compact(amendment));
  row.amendments.push(made);
  row.revision = revision;
  row.data = frozenCopy(data);
  judgeEdited(store, row);
  return [amendmentEvent(made)];
}

/** Other data than that which failed makes the letter eligible, unless it is poison. */
function judgeEdited(store: Store, row: Row): void {
  const { death, revision } = burialOf(row);
  const failedData = row.amendments.find((one) => one.revision > revision)?.before ?? null;
  if (death.poison) return;
  const { errorType: name, errorClass } = death;
  const judgement =
    canonicalJson(failedData) === canonicalJson(row.data)
      ? reviewOf({ errorType: { name }, errorClass, errorMessage: lastMessage(row) })
      : { reprocessEligible: true, manualReviewRequired: false };
  if (judgement.reprocessEligible !== death.reprocessEligible)
    moveLetter(store, row, { ...death, ...judgement });
}
