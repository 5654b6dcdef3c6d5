/** Burying and unburying: the rows of `letters` and `groups`, always counted in the same transaction. */
import type { Grave } from "../../item/item.ts";
import { artifactsToJson } from "../../item/letter.ts";
import { assert } from "../../kit/assert.ts";
import type { Session, Value } from "./session.ts";
import type { LetterPlace, Tally } from "./tally.ts";

export interface Burial {
  readonly ref: number;
  readonly queue: number;
  readonly at: number;
  readonly grave: Grave;
}

export function bury(session: Session, tally: Tally, { ref, queue, at, grave }: Burial): void {
  const grp = groupOf(session, queue, at, grave);
  const { lastInsertRowid: no } = session.run(
    `INSERT INTO letters (ref, grp, buried_at, ${STONE}) VALUES (?, ?, ?, ?, ?, ?)`,
    ref,
    grp,
    at,
    ...stoneOf(grave),
  );
  tally.buried({ no: Number(no), grp, buried_at: at });
  tally.queue(queue, "letters", 1);
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

/** The group of a gravestone; it is made when there is none. */
export function groupOf(session: Session, queue: number, at: number, grave: Grave): number {
  const key = [
    queue,
    grave.signature,
    grave.errorType,
    grave.errorClass,
    grave.reprocessEligible ? 1 : 0,
    grave.manualReviewRequired ? 1 : 0,
  ];
  const found = session.get<{ no: number }>(
    `SELECT no FROM groups WHERE queue = ? AND signature = ? AND error_type = ? AND error_class = ? AND eligible = ?
        AND review = ?`,
    ...key,
  );
  if (found !== undefined) return found.no;
  const made = session.run(
    `INSERT INTO groups (queue, signature, error_type, error_class, eligible, review, pattern, first_at, last_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...key,
    grave.pattern,
    at,
    at,
  );
  return Number(made.lastInsertRowid);
}
