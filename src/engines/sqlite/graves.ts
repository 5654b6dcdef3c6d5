/** Burying and unburying: the rows of `letters` and `groups`, always counted in the same transaction. */
import type { Grave } from "../../item/item.ts";
import { artifactsToJson } from "../../item/letter.ts";
import type { Session } from "./session.ts";
import type { Tally } from "./tally.ts";

export interface Burial {
  readonly ref: number;
  readonly queue: number;
  readonly at: number;
  readonly grave: Grave;
}

export function bury(session: Session, tally: Tally, { ref, queue, at, grave }: Burial): void {
  const group = groupOf(session, queue, at, grave);
  const artifacts = grave.worktreeArtifacts;
  const { lastInsertRowid: letter } = session.run(
    "INSERT INTO letters (ref, grp, buried_at, reason, artifacts) VALUES (?, ?, ?, ?, ?)",
    ref,
    group,
    at,
    grave.reason,
    artifacts === undefined ? null : JSON.stringify(artifactsToJson(artifacts)),
  );
  tally.buried(group, Number(letter), at);
  tally.queue(queue, "letters", 1);
}

/** Takes the letter away; its attempts and their failures stay with the item. */
export function unbury(session: Session, tally: Tally, { ref, queue }: { ref: number; queue: number }): void {
  const row = session.get<{ no: number; grp: number }>(
    "DELETE FROM letters WHERE ref = ? RETURNING no, grp",
    ref,
  );
  if (row === undefined) return;
  tally.unburied(row.grp, row.no);
  tally.queue(queue, "letters", -1);
}

function groupOf(session: Session, queue: number, at: number, grave: Grave): number {
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
