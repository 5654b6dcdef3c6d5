/**
 * Caches facts about the leases that this engine granted: whether an item is not a letter and has no ordering
 * key (which is fixed during a lease), and the numbers of holders. So most settlements need not read the
 * items. Entries may be dropped at any time.
 */
import type { Lease, Settlement } from "../../item/item.ts";

/** Far more than the leases that runners hold at a time. */
const KEPT_MAX = 100_000;
const LESSEES_MAX = 1000;
/**
 * A holder's rows in `leases` are merged after this many leases: rarely enough for workers, with few enough
 * rows for reapers.
 */
const GATHER_AFTER = 64;

/** The numbers of a holder and a queue, which never change. */
export interface KnownLessee {
  readonly holderId: string;
  readonly holder: number;
  readonly queue: number;
}

/** A lease and the number of its queue. */
interface KnownLease extends Lease {
  readonly queue: number;
}

export class PlainLeases {
  /** Plain leases, by the number of the item. */
  readonly #leases = new Map<number, KnownLease>();
  /** Known holders, by holder and queue. */
  readonly #lessees = new Map<string, KnownLessee>();
  /** Leases of each holder since its rows were last merged. */
  readonly #given = new Map<number, number>();

  /** Records a new lease. If its transaction fails, the attempt is never settled, so the entry does no harm. */
  note(lease: KnownLease, isPlain: boolean): void {
    if (this.#leases.size >= KEPT_MAX) this.#leases.clear();
    if (isPlain) this.#leases.set(lease.ref, lease);
    else this.#leases.delete(lease.ref);
  }

  /** Whether all leases are known, none is listed twice, and all items are in the queue, if one is given. */
  has(settlements: readonly Settlement[], queue?: number): boolean {
    const refs = new Set<number>();
    for (const { lease } of settlements) {
      const known = this.#leases.get(lease.ref);
      if (known?.attempt !== lease.attempt || refs.has(lease.ref)) return false;
      if (queue !== undefined && known.queue !== queue) return false;
      refs.add(lease.ref);
    }
    return true;
  }

  countGiven(holder: number): void {
    this.#given.set(holder, (this.#given.get(holder) ?? 0) + 1);
  }

  /** Whether the holder's rows should be merged. */
  isTimeToGather(holder: number): boolean {
    return (this.#given.get(holder) ?? 0) >= GATHER_AFTER;
  }

  countGathered(holder: number): void {
    this.#given.set(holder, 1);
  }

  lesseeOf(holderId: string | null, queueName: string): KnownLessee | undefined {
    return this.#lessees.get(`${holderId} ${queueName}`);
  }

  noteLessee({ holderId, holder, queue }: KnownLessee, queueName: string): void {
    if (this.#lessees.size >= LESSEES_MAX) this.#lessees.clear();
    this.#lessees.set(`${holderId} ${queueName}`, { holderId, holder, queue });
  }

  forget(settlements: readonly Settlement[]): void {
    for (const { lease } of settlements) this.#leases.delete(lease.ref);
  }
}
