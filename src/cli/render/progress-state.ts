/** How fast items come to their end: a rate over the last while that neither jumps nor clings to the past. */
import { itemName, type LeasedItem } from "../../item/item.ts";
import type { Clock } from "../../std/clock.ts";
import type { AgentView, Slowest } from "./progress-line.ts";

export interface Rate {
  readonly perSecond: number;
  /** Enough was seen to say from it when the rest will be done. */
  readonly isSteady: boolean;
}

interface Sample {
  readonly at: number;
  readonly finished: number;
}

/** The rate is that of the last 10 s, or of the last 10 items where those took longer. */
const WINDOW_MS = 10_000;
const WINDOW_ITEMS = 10;
const SAMPLE_MS = 500;
const SHOWN_FROM_MS = 1000;
const STEADY_FROM_MS = 3000;
const STEADY_FROM_ITEMS = 5;

export class RateMeter {
  /** Oldest first. Never many: one for each half second of the window, or for each of its last items. */
  #samples: Sample[] = [];
  #latest: Sample | null = null;

  /** How many were finished at a moment. A redrive makes finished items unfinished: then it starts anew. */
  add(at: number, finished: number): void {
    if (this.#latest !== null && finished < this.#latest.finished) this.#samples = [];
    this.#latest = { at, finished };
    const last = this.#samples.at(-1);
    if (last === undefined || (finished > last.finished && at - last.at >= SAMPLE_MS)) {
      this.#samples.push(this.#latest);
    }
    while (this.#isWindow(this.#samples[1], this.#latest)) this.#samples.shift();
  }

  /** Null while there is too little to tell. */
  rate(): Rate | null {
    const first = this.#samples[0];
    if (first === undefined || this.#latest === null) return null;
    const ms = this.#latest.at - first.at;
    const items = this.#latest.finished - first.finished;
    if (ms < SHOWN_FROM_MS || items === 0) return null;
    return {
      perSecond: (items * 1000) / ms,
      isSteady: ms >= STEADY_FROM_MS && items >= STEADY_FROM_ITEMS,
    };
  }

  /** Whether the time since the sample is window enough, so that older ones are not needed. */
  #isWindow(sample: Sample | undefined, latest: Sample): boolean {
    if (sample === undefined) return false;
    return latest.at - sample.at >= WINDOW_MS && latest.finished - sample.finished >= WINDOW_ITEMS;
  }
}

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
