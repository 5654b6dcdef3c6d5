/** Buries letters in SQLite, and counts them in the same transaction. */
import type { DeathRecord } from "../../item/item.ts";
import { headerValues } from "../sql/bury.ts";
import { runNow } from "../sql/db.ts";
import type { Deltas } from "../sql/deltas.ts";
import type { GroupCache } from "../sql/group-cache.ts";
import { DIALECT } from "./dialect.ts";
import type { Session, Written } from "./session.ts";

export interface Burial {
  readonly ref: number;
  readonly queue: number;
  readonly at: number;
  /** When the item failed for the first time. */
  readonly firstAt: number;
  /** The death record that `groupAll` returned. */
  readonly death: DeathRecord;
}

/** Buries letters and numbers them in the order given. */
export function buryAll(
  { session, deltas, groups }: { session: Session; deltas: Deltas; groups: GroupCache },
  burials: readonly Burial[],
): void {
  if (burials.length === 0) return;
  const asked = burials.map(({ queue, at, death }) => ({ queue, at, header: death }));
  const find = (sql: string, key: readonly (string | number)[]) => session.get<{ no: number }>(sql, ...key);
  let numbers: readonly (number | undefined)[] = asked.map((row) => groups.existingNumber(row, find));
  if (numbers.includes(undefined)) numbers = runNow(groups.numbersOf(asked));
  const { lastInsertRowid } = insertLetters(session, burials, numbers);
  const first = Number(lastInsertRowid) - burials.length + 1; // SQLite assigns consecutive row numbers
  for (const [index, { queue, at, firstAt }] of burials.entries()) {
    deltas.buried({ no: first + index, grp: numbers[index] ?? 0, buried_at: at, first_at: firstAt });
    deltas.queue(queue, "letters", 1);
  }
}

/** Most letters have only a reason, and a value that is not given costs nothing. */
function insertLetters(
  session: Session,
  burials: readonly Burial[],
  numbers: readonly (number | undefined)[],
): Written {
  if (burials.every(({ death }) => isPlain(death)))
    return session.insert(
      "letters (ref, grp, buried_at, reason, first_at)",
      burials.map(({ ref, at, firstAt, death }, index) => [
        ...[ref, numbers[index] ?? 0, at, death.reason, firstAt],
      ]),
    );
  return session.insert(
    LETTERS,
    burials.map(({ ref, at, firstAt, death }, index) => [
      ...[ref, numbers[index] ?? 0, at, ...headerValues(DIALECT, death, { message: "", firstAt })],
    ]),
  );
}

function isPlain({ worktreeArtifacts, poison, sourceSignature }: DeathRecord): boolean {
  return worktreeArtifacts === undefined && poison !== true && sourceSignature === undefined;
}

const LETTERS = `letters (ref, grp, buried_at, ${Object.keys(DIALECT.letterHeader).join(", ")})`;

/** The number of the newest burial, even if its letter no longer exists. */
export function lastBurial(session: Session): number {
  return session.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'letters'")?.seq ?? 0;
}

/** Raises the sequence, so that the numbers of resolved letters are not reused. */
export function numberBurials(session: Session, last: number): void {
  const { changes } = session.run(
    "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'letters'",
    last,
  );
  if (changes === 0) session.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('letters', ?)", last);
}
