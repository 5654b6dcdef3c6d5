/**
 * What one transaction changes of the counters of groups and of the arrivals of their letters, summed up and written once
 * at its end, by one statement for all groups and one for all minutes. The deltas of a queue builds on it.
 */
import { type ArrivalSum, countArrivals, minuteOf } from "./arrivals.ts";
import type { Tx } from "./session.ts";

type GroupCounter = "away" | "resolved" | "discarded";

/** Where a letter lies, and when its item failed for the last and for the first time. */
export interface LetterPlace {
  readonly no: number;
  readonly grp: number;
  readonly buried_at: number;
  readonly first_at: number;
}

/** What is counted of it. */
type CountedLetter = Omit<LetterPlace, "no">;

/** What came into a group, less what left it. */
interface GroupSum extends Record<GroupCounter | "count", number> {
  readonly group: number;
  /** The times of those that came in. */
  firstAt: number;
  lastAt: number;
}

export class LetterDeltas {
  readonly #groups = new Map<number, GroupSum>();
  readonly #arrivals = new Map<string, ArrivalSum>();

  /** Letters of the group that are on their way, or closed. */
  group(group: number, counter: GroupCounter, by: number): void {
    this.#group(group)[counter] += by;
  }

  /** A letter came into the group. */
  buried(letter: CountedLetter): void {
    this.#arrive(letter, 1);
    this.restored(letter);
  }

  /** A letter came back to where it was. */
  restored({ grp, buried_at: at, first_at: first }: CountedLetter): void {
    const sum = this.#group(grp);
    sum.count += 1;
    sum.firstAt = Math.min(sum.firstAt, first, at);
    sum.lastAt = Math.max(sum.lastAt, at);
    this.#arrival(grp, at).waiting += 1;
  }

  /** A letter left the group; the times stay. */
  unburied({ grp, buried_at: at }: LetterPlace): void {
    this.#group(grp).count -= 1;
    this.#arrival(grp, at).waiting -= 1;
  }

  /** A letter changed its group: what was counted of its burial is counted there now. */
  regrouped(from: LetterPlace, to: LetterPlace, isWaiting: boolean): void {
    this.#arrive(from, -1);
    this.buried(to);
    this.unburied(isWaiting ? from : to);
  }

  async write(tx: Tx): Promise<void> {
    await Promise.all([
      countGroups(tx, [...this.#groups.values()]),
      countArrivals(tx, [...this.#arrivals.values()]),
    ]);
  }

  #arrive({ grp, buried_at: at }: CountedLetter, by: number): void {
    this.#arrival(grp, at).ever += by;
  }

  #group(group: number): GroupSum {
    const none = {
      count: 0,
      away: 0,
      resolved: 0,
      discarded: 0,
      firstAt: Number.MAX_SAFE_INTEGER,
      lastAt: 0,
    };
    return entryOf(this.#groups, group, { group, ...none });
  }

  #arrival(group: number, at: number): ArrivalSum {
    const minute = minuteOf(at);
    return entryOf(this.#arrivals, `${group}/${minute}`, { group, minute, waiting: 0, ever: 0 });
  }
}

function entryOf<Key, Entry>(map: Map<Key, Entry>, key: Key, none: Entry): Entry {
  const entry = map.get(key) ?? none;
  map.set(key, entry);
  return entry;
}

/** Both ends of the time: the clock may have been put back. */
async function countGroups(tx: Tx, sums: readonly GroupSum[]): Promise<void> {
  if (sums.length === 0) return;
  await tx.run(
    `UPDATE groups g SET count = g.count + s.count, away = g.away + s.away, resolved = g.resolved + s.resolved,
            discarded = g.discarded + s.discarded, first_at = least(g.first_at, s.first_at),
            last_at = greatest(g.last_at, s.last_at)
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            AS s (no, count, away, resolved, discarded, first_at, last_at)
      WHERE g.no = s.no`,
    sums.map((sum) => sum.group),
    sums.map((sum) => sum.count),
    sums.map((sum) => sum.away),
    sums.map((sum) => sum.resolved),
    sums.map((sum) => sum.discarded),
    sums.map((sum) => sum.firstAt),
    sums.map((sum) => sum.lastAt),
  );
}
