/** Moves letters to other groups. The counters of groups change in the same transaction. */
import type { Regrouped } from "../../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import { assert } from "../../std/assert.ts";
import { type Ledger, newLedger, writeLedger } from "./bury.ts";
import { type Db, type Step, together } from "./db.ts";
import type { GroupCounter, NumberedLetter } from "./deltas.ts";
import type { LetterHeader } from "./group-cache.ts";

/** Returns how many letters changed their group. If a letter is listed twice, the first entry wins. */
export function* regroup(db: Db, letters: readonly Regrouped[]): Step<number> {
  const ledger = newLedger(db);
  const asked = yield* groupsFor(ledger, letters);
  const moving = asked.filter(({ row, found }) => found.signature !== row.signature);
  for (const { row, found } of moving) ledger.groups.know(found, { queue: row.queue, ref: row.ref });
  yield* moveLetters(
    ledger,
    moving.map(({ row, found, algorithm }) => ({
      row,
      header: { ...judgementOf(row), ...found, algorithm },
    })),
  );
  yield* writeAlgorithms(db, asked);
  yield* writeLedger(ledger);
  return moving.length;
}

/** An existing letter and its new group. */
interface Asked {
  readonly row: Row;
  readonly algorithm: string;
  readonly found: { readonly signature: string; readonly pattern: string };
}

interface Row extends GroupedLetter {
  readonly error_type: ErrorTypeName;
  readonly error_class: ErrorClass;
  readonly eligible: number;
  readonly review: number;
  readonly message: string | null;
}

/** A letter with its group and with what other rows count it as. */
export interface GroupedLetter extends NumberedLetter {
  readonly ref: number;
  readonly queue: number;
  readonly signature: string;
  /** A further counter of the group that includes the letter, or null. */
  readonly counted: GroupCounter | null;
  readonly is_waiting: number;
}

/** Finds the group of each letter, in the order given. */
function* groupsFor({ db, groups }: Ledger, letters: readonly Regrouped[]): Step<Asked[]> {
  const numbers = letters.map(({ letterSequence }) => letterSequence);
  const [waiting, closed] = yield* together(
    db.all<Row>(rowSql(db, "letters", "CASE WHEN i.state <> 'dead' THEN 'in_retry' END"), numbers),
    db.all<Row>(
      rowSql(db, "resolved_letters", "CASE WHEN l.kind = 'discard' THEN 'discarded' ELSE 'resolved' END"),
      numbers,
    ),
  );
  const rows = new Map([...waiting, ...closed].map((row) => [row.no, row]));
  const named = letters.flatMap((letter) => {
    const row = rows.get(letter.letterSequence);
    rows.delete(letter.letterSequence);
    return row === undefined ? [] : { row, letter };
  });
  const found = yield* groups.groupAll(
    named.map(({ row: { message }, letter: { signature, pattern } }) => ({
      group: { signature, pattern },
      message: message ?? "",
    })),
  );
  return named.map(({ row, letter: { algorithm } }, index) => {
    const group = found[index];
    assert(group, `letter ${row.no} belongs nowhere`);
    return { row, algorithm, found: group };
  });
}

function rowSql({ sql }: Db, table: "letters" | "resolved_letters", counted: string): string {
  return `
    SELECT l.no, l.grp, l.buried_at, l.first_at, l.ref, ${sql.lastMessage} AS message, g.queue, g.signature, g.error_type,
           g.error_class, g.eligible, g.review, ${counted} AS counted, ${table === "letters" ? 1 : 0} AS is_waiting
      FROM ${table} l ${sql.joinInOrder} items i ON i.ref = l.ref ${sql.joinInOrder} groups g ON g.no = l.grp WHERE ${sql.among("l.no", "?")}`;
}

/** Moves letters to the groups with these headers, which it creates if they are missing. */
export function* moveLetters(
  { db, groups, deltas }: Pick<Ledger, "db" | "groups" | "deltas">,
  moving: readonly { readonly row: GroupedLetter; readonly header: LetterHeader }[],
): Step<void> {
  if (moving.length === 0) return;
  const numbers = yield* groups.numbersOf(
    moving.map(({ row, header }) => ({ queue: row.queue, at: row.buried_at, header })),
  );
  const moves = moving.map(({ row }, index) => ({ row, to: numbers[index] ?? 0 }));
  for (const { row, to } of moves) {
    deltas.regrouped(row, { ...row, grp: to }, row.is_waiting === 1);
    if (row.counted === null) continue;
    deltas.group(row.grp, row.counted, -1);
    deltas.group(to, row.counted, 1);
  }
  const rows = db.sql.relation(
    "m",
    { no: "bigint", grp: "bigint" },
    moves.map(({ row, to }) => [row.no, to]),
  );
  const update = (table: string) =>
    db.run(`UPDATE ${table} SET grp = m.grp FROM ${rows.sql} WHERE ${table}.no = m.no`, ...rows.values);
  yield* together(update("letters"), update("resolved_letters"));
}

function judgementOf({ error_type, error_class, eligible, review }: Row) {
  return {
    errorType: error_type,
    errorClass: error_class,
    reprocessEligible: eligible === 1,
    manualReviewRequired: review === 1,
  };
}

/** Records the algorithm in the group of each letter, even if the letter was not moved. */
function* writeAlgorithms(db: Db, asked: readonly Asked[]): Step<void> {
  const last = new Map(
    asked.map(({ row: { queue }, found: { signature }, algorithm }) => [
      `${queue}\n${signature}`,
      [queue, signature, algorithm],
    ]),
  );
  const rows = db.sql.relation("a", { queue: "bigint", signature: "text", algorithm: "text" }, [
    ...last.values(),
  ]);
  yield* db.run(
    `UPDATE groups SET algorithm = a.algorithm FROM ${rows.sql}
      WHERE groups.queue = a.queue AND groups.signature = a.signature AND groups.algorithm <> a.algorithm`,
    ...rows.values,
  );
}
