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
  readonly grave: Grave;
}

/** The burials of one step. Each is told of in its turn; their rows are written together, numbered in the same order. */
export class Burials {
  readonly #rows: { readonly grp: number; readonly at: number; readonly values: Value[] }[] = [];

  bury({ tally, groups }: Ledger, { ref, queue, at, grave }: Burial): void {
    const grp = groups.numberOf(queue, at, grave);
    this.#rows.push({ grp, at, values: [ref, grp, at, ...stoneOf(grave)] });
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
    for (const { grp, at } of this.#rows) {
      no += 1;
      tally.buried({ no, grp, buried_at: at });
    }
  }
}

/** The columns of what is written on a gravestone besides its group. */
export const STONE = "reason, artifacts, toxic";

export function stoneOf({ reason, worktreeArtifacts, toxic }: Grave): Value[] {
  const artifacts =
    worktreeArtifacts === undefined ? null : JSON.stringify(artifactsToJson(worktreeArtifacts));
  return [reason, artifacts, toxic ? 1 : 0];
}

/** A letter that was taken out of the line of those that wait. */
export interface Unburied extends LetterPlace {
  readonly ref: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly toxic: number;
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
