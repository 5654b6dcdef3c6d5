/**
 * The end of one attempt: its record is closed and the item goes where the verdict says.
 *
 * | verdict    | goes to | due          | counts against the policy                |
 * |------------|---------|--------------|------------------------------------------|
 * | done       | done    |              | nothing; a letter is closed              |
 * | retry      | ready   | now + delay  | a failed try, or a loss                  |
 * | park       | ready   | now + delay  | nothing                                  |
 * | release    | ready   | as it was    | nothing                                  |
 * | skip       | skipped |              | a try or a loss; a letter is one no more |
 * | bury, stop | dead    |              | a try or a loss; it is a letter          |
 *
 * An operation that sent the item back to work counts `done` as succeeded, the other ends as failed, and those that
 * died of the same failure as before among them.
 *
 * A lease that is not held any more changes nothing. What a late worker says is kept as a late result; that a second
 * reaper finds the same lost lease, or a runner gives back what it no longer has, says nothing new and is dropped.
 */

import { eventsOf } from "../../../src/item/event.ts";
import type { Attempt, Settlement } from "../../../src/item/item.ts";
import type { Resolution } from "../../../src/item/letter.ts";
import { countersOf, MOVE_OF } from "../../../src/item/settlement.ts";
import { assert } from "../../../src/std/assert.ts";
import { compact } from "../../../src/std/json.ts";
import { accountFor } from "./books.ts";
import { buryRow, closeLetter, removeLetter } from "./bury.ts";
import { groupFor } from "./corrections.ts";
import { countUp } from "./counters.ts";
import { record } from "./events.ts";
import { countBurial, countFix } from "./group-records.ts";
import { moveRow } from "./move.ts";
import { type Burial, frozenCopy, type Row, type Store } from "./store.ts";

/** False if the lease was lost. */
export function settle(store: Store, given: Settlement): boolean {
  const row = store.rows[given.lease.ref - 1];
  if (row?.state !== "leased" || row.started !== given.lease.attempt) {
    if (row) keepEvidence(store, row, given);
    return false;
  }
  const settlement = underItsGroup(store, given);
  const where = { queue: row.queue.name, itemId: row.itemId, attempt: settlement.lease.attempt };
  const wasLetter = row.burial !== undefined;
  for (const draft of eventsOf(settlement, wasLetter)) record(store, { ...draft, ...where });
  countUp(row.queue, countersOf(settlement, wasLetter));
  for (const { author, text } of settlement.notes ?? [])
    row.notes.push(Object.freeze({ at: store.now, author, text }));
  endAttempt(store, row, settlement);
  spend(row, settlement);
  carryOut(store, row, settlement);
  return true;
}

/** With the death record of the group that the corrections select. */
function underItsGroup(store: Store, settlement: Settlement): Settlement {
  const { death, failure } = settlement;
  return death ? { ...settlement, death: groupFor(store, death, failure?.errorMessage ?? "") } : settlement;
}

function keepEvidence(store: Store, row: Row, { lease, outcome, failure }: Settlement): void {
  if (outcome !== "succeeded" && outcome !== "failed") return;
  const note = failure?.errorMessage ?? "";
  row.lateResults.push(Object.freeze({ at: store.now, attemptNumber: lease.attempt, outcome, note }));
  const where = { queue: row.queue.name, itemId: row.itemId, attempt: lease.attempt };
  record(store, { type: "late_result", ...where, data: { outcome } });
}

function endAttempt(store: Store, row: Row, { outcome, failure, log, result }: Settlement): void {
  const running = row.attempts.pop();
  assert(running?.outcome === "running", `item ${row.ref} is leased but its last attempt has ended`);
  const ended: Attempt = compact({ ...running, outcome, endedAt: store.now, failure, log, result });
  row.attempts.push(frozenCopy(ended));
  store.holders.get(running.holder)?.leases.delete(row);
}

/** Failures of the runner, outages and shutdowns are never the item's fault: only these verdicts count attempts. */
const SPENDING: ReadonlySet<string> = new Set(["retry", "skip", "bury", "stop"]);

function spend(row: Row, { outcome, verdict }: Settlement): void {
  if (!SPENDING.has(verdict.kind)) return;
  if (outcome === "failed") row.attemptsCounted += 1;
  if (outcome === "lost") row.lostCount += 1;
}

function carryOut(store: Store, row: Row, { verdict, death }: Settlement): void {
  moveRow(row, MOVE_OF[verdict.kind], "delayMs" in verdict ? store.now + verdict.delayMs : row.dueAt);
  if (row.state === "ready") return;
  const signature = row.burial?.death.signature;
  if (death) {
    buryRow(store, row, death);
    countBurial(store, row);
  } else if (row.state === "skipped") removeLetter(store, row);
  else if (row.burial) succeed(store, row, row.burial);
  if (row.state === "done") accountFor(store, row, "succeeded");
  else accountFor(store, row, death?.signature === signature ? "returned" : "failed");
}

/** The author of the last change since the death, if there was one, is the author of the fix. */
function succeed(store: Store, row: Row, burial: Burial): void {
  const amendment = row.revision > burial.revision ? row.amendments.at(-1) : undefined;
  const fix = amendment?.rule === undefined ? "manual_fix" : "auto_fix";
  const asked = row.operation?.asked;
  const resolution: Resolution = compact({
    kind: amendment ? fix : "requeue",
    at: store.now,
    author: asked?.author,
    operationId: asked?.id,
  });
  closeLetter(store, row, resolution);
  countFix(store, row, { resolution, amendment });
}
