/**
 * What an engine remembers of the leases that it gave: that their items are no letters and in no lane, which does not change
 * under a lease; and the numbers of who leased. So the settling of most needs no look at the items. Forgetting costs only that.
 */
import type { Settlement } from "../../item/item.ts";

/** Far more than runners hold at a time. */
const KEPT_MAX = 100_000;
const LESSEES_MAX = 1000;
/** So many rows of `leases` cost a reaper nothing, and pulling them together so seldom costs workers nothing. */
const GATHER_AFTER = 64;

/** Who leases, and from which queue, by their numbers, which never change. */
export interface KnownLessee {
  readonly holderId: string;
  readonly holder: number;
  readonly queue: number;
}

export class PlainLeases {
  readonly #attempts = new Map<number, number>();
  /** Those that leased before, by holder and queue. */
  readonly #lessees = new Map<string, KnownLessee>();
  /** How often each holder was given something since that was made one row. */
  readonly #given = new Map<number, number>();

  /** A lease that is being given. If that comes to nothing, nobody ever asks for this attempt. */
  note(ref: number, attempt: number, isPlain: boolean): void {
    if (this.#attempts.size >= KEPT_MAX) this.#attempts.clear();
    if (isPlain) this.#attempts.set(ref, attempt);
    else this.#attempts.delete(ref);
  }

  /** Whether all are known, each named once. */
  has(settlements: readonly Settlement[]): boolean {
    const refs = new Set<number>();
    for (const { lease } of settlements) {
      if (this.#attempts.get(lease.ref) !== lease.attempt || refs.has(lease.ref)) return false;
      refs.add(lease.ref);
    }
    return true;
  }

  /** The holder is being given something. */
  countGiven(holder: number): void {
    this.#given.set(holder, (this.#given.get(holder) ?? 0) + 1);
  }

  /** Whether what the holder was given is to be made one row. */
  isTimeToGather(holder: number): boolean {
    return (this.#given.get(holder) ?? 0) >= GATHER_AFTER;
  }

  /** It is being made one. */
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

  /** They were settled. */
  forget(settlements: readonly Settlement[]): void {
    for (const { lease } of settlements) this.#attempts.delete(lease.ref);
  }
}
