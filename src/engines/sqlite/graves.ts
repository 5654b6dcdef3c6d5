/** Burying and unburying: the rows of `letters`, always counted in the same transaction. */
import type { Grave } from "../../item/item.ts";
import { artifactsToJson } from "../../item/letter.ts";
import { assert } from "../../kit/assert.ts";
import type { GroupBook } from "./group-book.ts";
import type { Session, Value } from "./session.ts";
import type { LetterPlace, Tally } from "./tally.ts";

/** What a transaction writes into, and what it sums up until its end. */
export interface Ledger {
  readonly session: Session;
  readonly tally: Tally;
  readonly groups: GroupBook;
}

export interface Burial {
  readonly ref: number;
  readonly queue: number;
  readonly at: number;
  /** When the item failed for the first time. */
  readonly firstAt: number;
  readonly grave: Grave;
}

/** The burials of one step. Each is told of in its turn; their rows are written together, numbered in the same order. */
export class Burials {
  readonly #rows: (Omit<LetterPlace, "no"> & { readonly values: Value[] })[] = [];

  bury({ tally, groups }: Ledger, { ref, queue, at, firstAt, grave }: Burial): void {
    const grp = groups.numberOf(queue, at, grave);
    const values = [ref, grp, at, ...stoneOf(grave, { firstAt })];
    this.#rows.push({ grp, buried_at: at, first_at: firstAt, values });
    tally.queue(queue, "letters", 1);
    groups.buried(grave, { queue, ref });
  }

  write({ session, tally }: Ledger): void {
    if (this.#rows.length === 0) return;
    const { lastInsertRowid } = session.insert(
      `letters (ref, grp, buried_at, ${STONE})`,
      this.#rows.map(({ values }) => values),
    );
    let no = Number(lastInsertRowid) - this.#rows.length; // SQLite numbers rows one after the other
    for (const { grp, buried_at, first_at } of this.#rows) {
      no += 1;
      tally.buried({ no, grp, buried_at, first_at });
    }
  }
}

/** The columns of what is written on a gravestone besides its group. */
export const STONE = "reason, artifacts, toxic, first_at, arrived_at, source_signature";

/** `arrivedAt`: when the letter was imported; none for one that died here. */
export function stoneOf(
  { reason, worktreeArtifacts, toxic, sourceSignature }: Grave,
  { firstAt, arrivedAt }: { readonly firstAt: number; readonly arrivedAt?: number },
): Value[] {
  const artifacts =
    worktreeArtifacts === undefined ? null : JSON.stringify(artifactsToJson(worktreeArtifacts));
  return [reason, artifacts, toxic ? 1 : 0, firstAt, arrivedAt ?? null, sourceSignature ?? null];
}

/** A letter that was taken out of the line of those that wait. */
export interface Unburied extends LetterPlace {
  readonly ref: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly toxic: number;
  readonly arrived_at: number | null;
  readonly source_signature: string | null;
  readonly signature: string;
}

/** Takes the letter away; its attempts and their failures stay with the item. */
export function unbury(
  session: Session,
  tally: Tally,
  { ref, queue }: { readonly ref: number; readonly queue: number },
): Unburied {
  const letter = session.get<Unburied>(
    `DELETE FROM letters WHERE ref = ? RETURNING no, ref, grp, buried_at, ${STONE},
        (SELECT signature FROM groups WHERE groups.no = letters.grp) AS signature`,
    ref,
  );
  assert(letter, `item ${ref} is redriven and no letter`);
  tally.unburied(letter);
  tally.queue(queue, "letters", -1);
  return letter;
}
