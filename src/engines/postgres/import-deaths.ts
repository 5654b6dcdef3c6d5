/** The death records of letters from elsewhere: each has its own times; one that has a resolution is closed at once. */
import { importedFailures } from "../../item/event.ts";
import type { DeathRecord } from "../../item/item.ts";
import { assert } from "../../std/assert.ts";
import type { LetterPlace } from "../sql/deltas.ts";
import type { EventLog } from "../sql/event-log.ts";
import { HEADER_COLUMNS, headerValues, type Ledger, takeImportedBurials, unburyAll } from "./bury.ts";
import type { Admission, Admissions, PlannedBurial } from "./import-plan.ts";
import type { Tx } from "./session.ts";

interface ImportLedger extends Ledger {
  readonly events: EventLog;
}

/** A burial with its number and its group. */
interface Buried extends PlannedBurial {
  readonly place: LetterPlace;
}

/** The items have their rows, and those that are new their numbers. */
export async function buryAdmitted(ledger: ImportLedger, queue: number, plan: Admissions): Promise<void> {
  const { tx, deltas } = ledger;
  const burials = await place(ledger, queue, plan.burials);
  await unburyAll(
    tx,
    deltas,
    plan.reburied.map(({ ref }) => ({ ref, queue })),
  );
  // Of an item that is buried several times in this import, the last burial stays.
  const lying = new Map<Admission, Buried>();
  for (const burial of burials) {
    const earlier = lying.get(burial.item);
    if (earlier !== undefined) {
      deltas.unburied(earlier.place);
      deltas.queue(queue, "letters", -1);
    }
    lying.set(burial.item, burial);
    buryOne(ledger, queue, burial);
  }
  await writeDeaths(tx, [...lying.values()]);
}

async function place(
  { tx, groups }: ImportLedger,
  queue: number,
  burials: readonly PlannedBurial[],
): Promise<readonly Buried[]> {
  const deaths: readonly DeathRecord[] = await groups.groupAll(
    burials.map(({ death, message }) => ({ group: death, message })),
  );
  const timeOf = (at: number) => burials[at]?.lastAt ?? tx.now;
  const numbers = await groups.numbersOf(deaths.map((header, at) => ({ queue, at: timeOf(at), header })));
  const latest = burials.reduce((most, { lastAt }) => Math.max(most, lastAt), 0);
  const first = await takeImportedBurials(tx, burials.length, latest);
  return burials.map((burial, at) => {
    const [death, grp] = [deaths[at], numbers[at]];
    assert(death !== undefined && grp !== undefined, `the letter of ${burial.item.itemId} has no group`);
    const { lastAt: buried_at, firstAt: first_at } = burial;
    return { ...burial, death, place: { no: first + at, grp, buried_at, first_at } };
  });
}

/** One that comes in closed is no new failure of its group. */
function buryOne({ deltas, groups, events }: ImportLedger, queue: number, burial: Buried): void {
  const { item, death, place: at, resolution, news } = burial;
  const where = { queue, ref: item.ref };
  for (const { attempt, event } of importedFailures(news)) events.add(event, { ...where, attempt });
  events.add({ type: "dlq_item_added", data: { reason: "imported", signature: death.signature } }, where);
  deltas.buried(at);
  if (resolution === undefined) {
    deltas.queue(queue, "letters", 1);
    groups.buried(death, where);
    return;
  }
  deltas.unburied(at);
  deltas.group(at.grp, item.state === "done" ? "resolved" : "discarded", 1);
  if (item.state === "done") deltas.queue(queue, "resolved", 1);
  groups.know(death, where);
}

async function writeDeaths(tx: Tx, burials: readonly Buried[]): Promise<void> {
  const rowOf = ({ item, death, message, place: { no, grp, buried_at, first_at } }: Buried) => [
    ...[no, item.ref, grp, buried_at],
    ...headerValues(death, { message, firstAt: first_at, arrivedAt: tx.now }),
  ];
  const columns = `no, ref, grp, buried_at, ${HEADER_COLUMNS}`;
  await tx.insert(
    `letters (${columns})`,
    burials.filter(({ resolution }) => resolution === undefined).map(rowOf),
  );
  await tx.insert(
    `resolved_letters (${columns}, kind, closed_at, author, why, operation)`,
    burials.flatMap((burial) => {
      if (burial.resolution === undefined) return [];
      const { kind, at, author, reason, operationId } = burial.resolution;
      return [[...rowOf(burial), kind, at, author ?? null, reason ?? null, operationId ?? null]];
    }),
  );
}
