/** Amendments: a new revision of an item's data, with the previous data. */
import type { EventDraft } from "../../../src/item/event.ts";
import type { Amendment } from "../../../src/item/letter.ts";
import { amendmentEvent, type LetterStep } from "../../../src/item/operation.ts";
import { canonicalJson, compact } from "../../../src/std/json.ts";
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
  return [amendmentEvent(made)];
}
