/** Burying and unburying: the rows of `letters`, always counted in the same transaction. */

import type { DeathRecord } from "../../item/item.ts";
import { artifactsToJson } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import type { LetterPlace } from "../sql/deltas.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import type { GroupCache } from "./group-cache.ts";
import type { Session, Value } from "./session.ts";

/** What a transaction writes into, and what it sums up until its end. */
export interface Ledger {
  readonly session: Session;
  readonly deltas: CounterDeltas;
  readonly groups: GroupCache;
}

export interface Burial {
  readonly ref: number;
  readonly queue: number;
  readonly at: number;
  /** When the item failed for the first time. */
  readonly firstAt: number;
  readonly death: DeathRecord;
}

/** The burials of one step. Each is told of in its turn; their rows are written together, numbered in the same order. */
export class Burials {
  readonly #rows: (Omit<LetterPlace, "no"> & { readonly values: Value[] })[] = [];

  bury({ deltas, groups }: Ledger, { ref, queue, at, firstAt, death }: Burial): void {
    const grp = groups.numberOf(queue, at, death);
    const values = [ref, grp, at, ...headerValues(death, { firstAt })];
    this.#rows.push({ grp, buried_at: at, first_at: firstAt, values });
    deltas.queue(queue, "letters", 1);
    groups.buried(death, { queue, ref });
  }

  write({ session, deltas }: Ledger): void {
    if (this.#rows.length === 0) return;
    const { lastInsertRowid } = session.insert(
      `letters (ref, grp, buried_at, ${HEADER_COLUMNS})`,
      this.#rows.map(({ values }) => values),
    );
    let no = Number(lastInsertRowid) - this.#rows.length; // SQLite numbers rows one after the other
    for (const { grp, buried_at, first_at } of this.#rows) {
      no += 1;
      deltas.buried({ no, grp, buried_at, first_at });
    }
  }
}

/** The columns of what is written on a death record besides its group. */
export const HEADER_COLUMNS = "reason, artifacts, poison, first_at, arrived_at, source_signature";

/** `arrivedAt`: when the letter was imported; none for one that died here. */
export function headerValues(
  { reason, worktreeArtifacts, poison, sourceSignature }: DeathRecord,
  { firstAt, arrivedAt }: { readonly firstAt: number; readonly arrivedAt?: number },
): Value[] {
  const artifacts =
    worktreeArtifacts === undefined ? null : stringifyJson(artifactsToJson(worktreeArtifacts));
  return [reason, artifacts, poison ? 1 : 0, firstAt, arrivedAt ?? null, sourceSignature ?? null];
}

/** A letter that was taken out of the line of those that wait. */
export interface Unburied extends LetterPlace {
  readonly ref: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly poison: number;
  readonly arrived_at: number | null;
  readonly source_signature: string | null;
  readonly signature: string;
}

/** Takes the letter away; its attempts and their failures stay with the item. */
export function unbury(
  session: Session,
  deltas: CounterDeltas,
  { ref, queue }: { readonly ref: number; readonly queue: number },
): Unburied {
  const letter = session.get<Unburied>(
    `DELETE FROM letters WHERE ref = ? RETURNING no, ref, grp, buried_at, ${HEADER_COLUMNS},
        (SELECT signature FROM groups WHERE groups.no = letters.grp) AS signature`,
    ref,
  );
  assert(letter, `item ${ref} is redriven and no letter`);
  deltas.unburied(letter);
  deltas.queue(queue, "letters", -1);
  return letter;
}
