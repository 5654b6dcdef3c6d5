/** The items that run now, in the order in which they started, so that the one that runs longest is the first. */
import type { LeasedItem } from "../item/item.ts";
import { itemName } from "../item/item-name.ts";
import type { Clock } from "../kit/clock.ts";
import type { AgentView, Slowest } from "./progress-line.ts";

interface Running {
  readonly item: LeasedItem;
  /** By our own clock: the store's may be another machine's. */
  readonly since: number;
  step?: string;
}

export class RunningItems {
  readonly #clock: Clock;
  readonly #byRef = new Map<number, Running>();
  /** A slot that gets a new item has ended the old one, even if its end was stale and never told. */
  readonly #bySlot: (Running | undefined)[];
  #named: { readonly item: LeasedItem; readonly name: string } | null = null;

  constructor(slots: number, clock: Clock) {
    this.#clock = clock;
    this.#bySlot = new Array<Running | undefined>(slots + 1);
  }

  started(item: LeasedItem, slot: number): void {
    const before = this.#bySlot[slot];
    if (before !== undefined) this.ended(before.item);
    const running: Running = { item, since: this.#clock.now() };
    this.#bySlot[slot] = running;
    this.#byRef.delete(item.ref); // so that it goes to the end
    this.#byRef.set(item.ref, running);
  }

  /** Forgets the attempt, and not a newer one of the same item. */
  ended(item: LeasedItem): void {
    if (this.#byRef.get(item.ref)?.item.attempt === item.attempt) this.#byRef.delete(item.ref);
  }

  /** What the item's agent does now. */
  step(item: LeasedItem, step: string): void {
    const running = this.#byRef.get(item.ref);
    if (running?.item.attempt === item.attempt) running.step = step;
  }

  /** Those whose step is known, the longest running first. */
  agents(): readonly AgentView[] {
    const now = this.#clock.now();
    return [...this.#byRef.values()].flatMap(({ item, since, step }) =>
      step === undefined
        ? []
        : [{ name: itemName(item), attempt: countedAttempt(item), elapsedMs: now - since, step }],
    );
  }

  slowest(): Slowest | null {
    for (const { item, since } of this.#byRef.values()) {
      return {
        name: this.#nameOf(item),
        attempt: countedAttempt(item),
        elapsedMs: this.#clock.now() - since,
      };
    }
    return null;
  }

  /** Made once for each item: its data may be large. */
  #nameOf(item: LeasedItem): string {
    if (this.#named?.item !== item) this.#named = { item, name: itemName(item) };
    return this.#named.name;
  }
}

/** As the policy counts: attempts that were lost, released or made before a redrive are not among them. */
function countedAttempt({ spent }: LeasedItem): number {
  return spent + 1;
}
