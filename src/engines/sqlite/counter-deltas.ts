/** Writes the counter changes of one transaction at its end, including the counts by age. */
import { type ArrivalSum, Deltas, entryOf, type GroupSum, type NumberedLetter } from "../sql/deltas.ts";
import { endRedrivesSql } from "../sql/operations.ts";
import { DIALECT } from "./dialect.ts";
import { addToRanges, countIntoRange, type RangeSum, rangeOf } from "./letters-by-age.ts";
import type { Session } from "./session.ts";

type OpenRangeSum = { -readonly [Field in keyof RangeSum]: RangeSum[Field] };

const NEVER = Number.MAX_SAFE_INTEGER;

export class CounterDeltas extends Deltas {
  readonly #ranges = new Map<string, OpenRangeSum>();

  override restored(letter: NumberedLetter, arrivals = 0): void {
    super.restored(letter, arrivals);
    const { buried_at: at, first_at: first } = letter;
    const sum = this.#range(letter);
    sum.count += 1;
    sum.firstAt = Math.min(sum.firstAt, at);
    sum.lastAt = Math.max(sum.lastAt, at);
    sum.firstMin = Math.min(sum.firstMin, first);
    sum.firstMax = Math.max(sum.firstMax, first);
  }

  override unburied(letter: NumberedLetter): void {
    super.unburied(letter);
    this.#range(letter).count -= 1;
  }

  write(session: Session): void {
    for (const [queue, counters] of this.queues) addTo(session, "queues", queue, counters);
    this.#writeRanges(session);
    countArrivals(session, [...this.arrivals.values()]);
    for (const sum of this.groups.values()) countGroup(session, sum);
    for (const [operation, counters] of this.operations) addTo(session, "operations", operation, counters);
    if (this.operations.size > 0)
      session.run(endRedrivesSql(DIALECT), session.now, [...this.operations.keys()]);
    for (const [queue, counters] of this.counters) countUp(session, queue, counters);
  }

  #writeRanges(session: Session): void {
    const added: RangeSum[] = [];
    for (const sum of this.#ranges.values()) {
      if (sum.count > 0) added.push(sum);
      else countIntoRange(session, sum, sum);
    }
    addToRanges(session, added);
  }

  #range({ grp: group, no }: NumberedLetter): OpenRangeSum {
    const range = rangeOf(no);
    const bounds = { firstAt: NEVER, lastAt: 0, firstMin: NEVER, firstMax: 0 };
    return entryOf(this.#ranges, `${group}/${range}`, { group, range, count: 0, ...bounds });
  }
}

/** Updates both time bounds, because the clock may have been set back. A burial changes no other counter. */
function countGroup(session: Session, sum: GroupSum): void {
  const { group, count, in_retry, resolved, discarded, firstAt, lastAt } = sum;
  if (in_retry === 0 && resolved === 0 && discarded === 0) {
    session.run(`UPDATE groups SET count = count + ?, ${BOUNDS} WHERE no = ?`, count, firstAt, lastAt, group);
    return;
  }
  session.run(
    `UPDATE groups SET count = count + ?, in_retry = in_retry + ?, resolved = resolved + ?, discarded = discarded + ?,
            ${BOUNDS} WHERE no = ?`,
    ...[count, in_retry, resolved, discarded, firstAt, lastAt, group],
  );
}

const BOUNDS = "first_at = min(first_at, ?), last_at = max(last_at, ?)";

/**
 * Updates the counters of one row. Few combinations of counters occur, so there are few different statements.
 */
function addTo(session: Session, table: string, no: number, counters: ReadonlyMap<string, number>): void {
  const changed = [...counters].filter(([, by]) => by !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
  if (changed.length === 0) return;
  const sums = changed.map(([counter]) => `${counter} = ${counter} + ?`).join(", ");
  session.run(`UPDATE ${table} SET ${sums} WHERE no = ?`, ...changed.map(([, by]) => by), no);
}

/** Adds all burials with one statement; letters that left or returned need the other one. */
function countArrivals(session: Session, sums: readonly ArrivalSum[]): void {
  const added: ArrivalSum[] = [];
  for (const sum of sums) {
    if (sum.waiting >= 0 && sum.ever >= sum.waiting && sum.ever > 0) added.push(sum);
    else changeArrivals(session, sum);
  }
  session.insert(
    "arrivals (grp, minute, waiting, ever)",
    added.map(({ group, minute, waiting, ever }) => [group, minute, waiting, ever]),
    "ON CONFLICT DO UPDATE SET waiting = waiting + excluded.waiting, ever = ever + excluded.ever",
  );
}

/** Does not insert negative counts, because of the CHECK; see `countIntoRange`. */
function changeArrivals(session: Session, { group, minute, waiting, ever }: ArrivalSum): void {
  if (waiting === 0 && ever === 0) return;
  session.run(
    `INSERT INTO arrivals (grp, minute, waiting, ever) VALUES (?1, ?2, max(?3, 0), max(?3, ?4, 0))
     ON CONFLICT DO UPDATE SET waiting = waiting + ?3, ever = ever + ?4`,
    ...[group, minute, waiting, ever],
  );
}

/** Increments counters that never decrease. */
export function countUp(session: Session, queue: number, sums: ReadonlyMap<string, number>): void {
  session.insert(
    "counters (queue, name, value)",
    [...sums].map(([name, by]) => [queue, name, by]),
    "ON CONFLICT DO UPDATE SET value = value + excluded.value",
  );
}
