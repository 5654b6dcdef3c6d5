/** Amendments in SQLite: new data for an item, with what it replaced. The newest data is the item's payload. */

import type { Amendment } from "../../item/letter.ts";
import { canonicalJson, compact, type Json, parseJson, stringifyJson } from "../../std/json.ts";
import type { Session } from "./session.ts";

export interface NewAmendment extends Pick<Amendment, "at" | "author" | "rule" | "note" | "operationId"> {
  readonly ref: number;
  /** The number of the letter that it is made for; null when it is none. */
  readonly letter: number | null;
  readonly data: Json;
}

/** Null when the data is what it was: then there is no new revision. */
export function amend(session: Session, change: NewAmendment): Amendment | null {
  const { ref, letter, data } = change;
  const row = session.get<{ data: string }>("SELECT data FROM payloads WHERE ref = ?", ref);
  const before = parseJson(row?.data ?? "null") as Json;
  if (canonicalJson(before) === canonicalJson(data)) return null;
  const revision =
    session.get<{ revision: number }>(
      "UPDATE items SET revision = revision + 1 WHERE ref = ? RETURNING revision",
      ref,
    )?.revision ?? 0;
  const { at, author, rule, note, operationId } = change;
  const amendment: Amendment = compact({ revision, at, author, rule, note, operationId, before });
  insertAmendments(session, ref, [amendment], letter);
  session.run("UPDATE payloads SET data = ? WHERE ref = ?", stringifyJson(data), ref);
  return amendment;
}

/** Writes them down as they are. Those that were made elsewhere belong to no letter of this store. */
export function insertAmendments(
  session: Session,
  ref: number,
  amendments: readonly Amendment[],
  letter: number | null,
): void {
  session.insert(
    "amendments (ref, revision, at, author, rule, note, operation, letter, before)",
    amendments.map(({ revision, at, author, rule, note, operationId, before }) => [
      ...[ref, revision, at, author, rule ?? null, note ?? null, operationId ?? null, letter],
      stringifyJson(before),
    ]),
  );
}

interface AmendmentRow {
  readonly revision: number;
  readonly at: number;
  readonly author: string;
  readonly rule: string | null;
  readonly note: string | null;
  readonly operation: string | null;
  readonly before: string;
}

/** Oldest first. */
export function listAmendments(session: Session, ref: number): Amendment[] {
  const rows = session.all<AmendmentRow>(
    "SELECT revision, at, author, rule, note, operation, before FROM amendments WHERE ref = ? ORDER BY revision",
    ref,
  );
  return rows.map((row) =>
    compact({
      revision: row.revision,
      at: row.at,
      author: row.author,
      rule: row.rule ?? undefined,
      note: row.note ?? undefined,
      operationId: row.operation ?? undefined,
      before: parseJson(row.before) as Json,
    }),
  );
}
