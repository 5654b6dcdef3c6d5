/** Amendments in PostgreSQL: new data for items, with what it replaced. The newest data is the item's payload. */

import type { Amendment } from "../../item/letter.ts";
import { canonicalJson, compact, type Json, parseJson, stringifyJson } from "../../std/json.ts";
import type { Tx } from "./session.ts";

export interface NewAmendment extends Pick<Amendment, "at" | "author" | "rule" | "note" | "operationId"> {
  readonly ref: number;
  /** The number of the letter that it is made for; null for an item that is none. */
  readonly letter: number | null;
  readonly data: Json;
}

/** An amendment and where it belongs. Those that were made elsewhere belong to no letter of this store. */
export interface PlacedAmendment extends Amendment {
  readonly ref: number;
  readonly letter: number | null;
}

/** Null when the data is what it was: then there is no new revision. */
export async function amend(tx: Tx, change: NewAmendment): Promise<Amendment | null> {
  const [amendment = null] = await amendAll(tx, [change]);
  return amendment;
}

/** Of several items, each once. Null where the data is what it was: then there is no new revision. */
export async function amendAll(tx: Tx, changes: readonly NewAmendment[]): Promise<(Amendment | null)[]> {
  const current = await currentOf(tx, changes);
  const made = changes.map((change) => amendmentFor(change, current.get(change.ref)));
  const placed = made.filter((one) => one !== null);
  if (placed.length === 0) return made;
  await insertAmendments(tx, placed);
  await tx.run(
    `UPDATE items SET revision = n.revision FROM unnest(?1::bigint[], ?2::bigint[]) n (ref, revision)
      WHERE items.ref = n.ref`,
    placed.map(({ ref }) => ref),
    placed.map(({ revision }) => revision),
  );
  const changed = changes.filter((_, at) => made[at] !== null);
  await tx.run(
    "UPDATE payloads SET data = n.data FROM unnest(?1::bigint[], ?2::text[]) n (ref, data) WHERE payloads.ref = n.ref",
    changed.map(({ ref }) => ref),
    changed.map(({ data }) => stringifyJson(data)),
  );
  return made;
}

interface Current {
  readonly ref: number;
  readonly revision: number;
  readonly data: string;
}

async function currentOf(tx: Tx, changes: readonly NewAmendment[]): Promise<ReadonlyMap<number, Current>> {
  const rows = await tx.all<Current>(
    `SELECT i.ref, i.revision, p.data FROM items i JOIN payloads p ON p.ref = i.ref WHERE i.ref = ANY(?1::bigint[])
        FOR UPDATE OF i`,
    changes.map(({ ref }) => ref),
  );
  return new Map(rows.map((row) => [row.ref, row]));
}

function amendmentFor(change: NewAmendment, current: Current | undefined): PlacedAmendment | null {
  const before = parseJson(current?.data ?? "null") as Json;
  if (canonicalJson(before) === canonicalJson(change.data)) return null;
  const { ref, letter, at, author, rule, note, operationId } = change;
  const revision = (current?.revision ?? 0) + 1;
  return compact({ ref, letter, revision, at, author, rule, note, operationId, before });
}

/** Writes them down as they are. */
export async function insertAmendments(tx: Tx, amendments: readonly PlacedAmendment[]): Promise<void> {
  await tx.insert(
    "amendments (ref, revision, at, author, rule, note, operation, letter, before)",
    amendments.map(({ ref, revision, at, author, rule, note, operationId, letter, before }) => [
      ...[ref, revision, at, author, rule ?? null, note ?? null, operationId ?? null, letter],
      stringifyJson(before),
    ]),
  );
}

/** An amendment as part of another row. */
export type AmendmentTuple = readonly [
  revision: number,
  at: number,
  author: string,
  rule: string | null,
  note: string | null,
  operation: string | null,
  before: string,
];

/** The list of an item's amendments, oldest first; null when there are none. */
export function amendmentsSql(ref: string): string {
  return `(SELECT json_agg(json_build_array(a.revision, a.at, a.author, a.rule, a.note, a.operation, a.before) ORDER BY a.revision)
             FROM amendments a WHERE a.ref = ${ref})`;
}

/** Oldest first. */
export async function listAmendments(tx: Tx, ref: number): Promise<Amendment[]> {
  const row = await tx.get<{ amendments: readonly AmendmentTuple[] | null }>(
    `SELECT ${amendmentsSql("?::bigint")} AS amendments`,
    ref,
  );
  return (row?.amendments ?? []).map(amendmentFrom);
}

export function amendmentFrom([
  revision,
  at,
  author,
  rule,
  note,
  operation,
  before,
]: AmendmentTuple): Amendment {
  return compact({
    revision,
    at,
    author,
    rule: rule ?? undefined,
    note: note ?? undefined,
    operationId: operation ?? undefined,
    before: parseJson(before) as Json,
  });
}
