/**
 * The work of both SQL engines when attempts end, apart from writing attempts and items: letters, events and
 * counters.
 */
import { eventsOf } from "../../item/event.ts";
import type { DeathRecord, Settlement } from "../../item/item.ts";
import { countersOf, MOVE_OF } from "../../item/settlement.ts";
import { assertMove, type ItemState } from "../../item/state.ts";
import { type Ledger, type Unburied, unburyAll } from "./bury.ts";
import type { Step } from "./db.ts";
import { resolveLetters } from "./resolved-letters.ts";

/** A settlement that was applied, with the item's row and its new state. */
export interface Settled {
  readonly settlement: Settlement;
  readonly row: {
    readonly queue: number;
    readonly operation: number | null;
    readonly redrives: number;
    readonly revision: number;
    readonly ordering_key: string | null;
  };
  readonly to: ItemState;
}

export function stateAfter({ verdict }: Settlement): ItemState {
  return assertMove(MOVE_OF[verdict.kind], "leased");
}

/** Whether the attempt counts as failed, or as lost. */
export function countsAs({ verdict, outcome }: Settlement, what: "failed" | "lost"): boolean {
  return outcome === what && verdict.kind !== "park" && verdict.kind !== "release";
}

/** Returns the death records after corrections of the grouping. */
export function* groupDeaths(
  { groups }: Ledger,
  settled: readonly Settled[],
): Step<ReadonlyMap<Settlement, DeathRecord>> {
  const buried = settled.flatMap(({ settlement }) =>
    settlement.death === undefined ? [] : [{ settlement, death: settlement.death }],
  );
  if (buried.length === 0) return new Map();
  const found = yield* groups.groupAll(
    buried.map(({ settlement, death }) => ({
      group: death,
      message: settlement.failure?.errorMessage ?? "",
    })),
  );
  return new Map(buried.map(({ settlement, death }, at) => [settlement, found[at] ?? death]));
}

/** Removes the letters of redriven items, resolving those of done items. Returns them by item. */
export function* endLetters(
  ledger: Ledger,
  settled: readonly Settled[],
): Step<ReadonlyMap<number, Unburied>> {
  const ended = settled.flatMap(({ settlement, row, to }) =>
    row.redrives > 0 && to !== "ready" ? [{ ...row, ref: settlement.lease.ref, to }] : [],
  );
  if (ended.length === 0) return new Map();
  const letters = yield* unburyAll(ledger.db, ledger.deltas, ended);
  for (const { grp } of letters.values()) ledger.deltas.group(grp, "in_retry", -1);
  const resolved = ended.flatMap(({ to, ...row }) => {
    const letter = letters.get(row.ref);
    return to === "done" && letter !== undefined ? [{ ...row, letter }] : [];
  });
  yield* resolveLetters(ledger, resolved);
  return letters;
}

/** Records the events and counters of a settlement. `before` is the letter of a redriven item. */
export function recordSettlement(
  { deltas, events, groups }: Ledger,
  { settlement, row, to }: Settled,
  before: Pick<Unburied, "signature"> | undefined,
): void {
  const { lease, death } = settlement;
  const wasLetter = row.redrives > 0; // only letters are redriven, and a letter stays until its item is done
  const subject = { queue: row.queue, ref: lease.ref, attempt: lease.attempt };
  deltas.move(row.queue, "leased", to);
  for (const event of eventsOf(settlement, wasLetter)) events.add(event, subject);
  for (const name of countersOf(settlement, wasLetter)) deltas.counter(row.queue, name);
  if (death) groups.buried(death, { queue: row.queue, ref: lease.ref });
  if (to === "ready" || row.operation === null) return;
  deltas.operation(row.operation, to === "done" ? "succeeded" : "failed");
  if (death && death.signature === before?.signature) deltas.operation(row.operation, "returned");
}
