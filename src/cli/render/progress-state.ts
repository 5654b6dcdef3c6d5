/** The state of progress: the recent rate of finished items, and the items that run now. */
import { itemName, type LeasedItem } from "../../item/item.ts";
import type { Clock } from "../../std/clock.ts";
import type { AgentView, Slowest } from "./progress-line.ts";

export interface Rate {
  readonly perSecond: number;
  /** Enough was measured to estimate the end. */
  readonly isSteady: boolean;
}

interface Sample {
  readonly at: number;
  readonly finished: number;
}

/** The rate is that of the last 10 s, or of the last 10 items where those took longer. */
const WINDOW = { ms: 10_000, items: 10 };
/** From here on the rate is steady enough for an estimate. */
const STEADY = { ms: 3000, items: 5 };
const SAMPLE_MS = 500;
const SHOWN_FROM_MS = 1000;

export class RateMeter {
  /** Oldest first; at most one for each half second of the window. */
  #samples: Sample[] = [];
  #latest: Sample | null = null;

  /** Records how many were finished. A redrive makes finished items unfinished, so the measurement starts again. */
  add(at: number, finished: number): void {
    if (this.#latest !== null && finished < this.#latest.finished) this.#samples = [];
    this.#latest = { at, finished };
    const last = this.#samples.at(-1);
    if (last === undefined || (finished > last.finished && at - last.at >= SAMPLE_MS)) {
      this.#samples.push(this.#latest);
    }
    while (this.#isWindow(this.#samples[1], this.#latest)) this.#samples.shift();
  }

  /** Null while too little was measured. */
  rate(): Rate | null {
    const first = this.#samples[0];
    if (first === undefined || this.#latest === null) return null;
    const ms = this.#latest.at - first.at;
    const items = this.#latest.finished - first.finished;
    if (ms < SHOWN_FROM_MS || items === 0) return null;
    return {
      perSecond: (items * 1000) / ms,
      isSteady: ms >= STEADY.ms && items >= STEADY.items,
    };
  }

  /** Whether the window may start at this sample, so that older ones are dropped. */
  #isWindow(sample: Sample | undefined, latest: Sample): boolean {
    if (sample === undefined) return false;
    return latest.at - sample.at >= WINDOW.ms && latest.finished - sample.finished >= WINDOW.items;
  }
}

interface Running {
  readonly item: LeasedItem;
  /** By the clock of this process: the store may use another one. */
  readonly since: number;
  step?: string;
}

export class RunningItems {
  readonly #clock: Clock;
  readonly #byRef = new Map<number, Running>();
  /** A slot that gets a new item has ended the old one, even if its end was not reported. */
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

  /** Ignores the end of an attempt if the item has a newer one. */
  ended(item: LeasedItem): void {
    if (this.#byRef.get(item.ref)?.item.attempt === item.attempt) this.#byRef.delete(item.ref);
  }

  step(item: LeasedItem, step: string): void {
    const running = this.#byRef.get(item.ref);
    if (running?.item.attempt === item.attempt) running.step = step;
  }

  /** Items with a known step, the longest running first. */
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
        elapsedMs: Math.max(0, this.#clock.now() - since),
      };
    }
    return null;
  }

  /** Computed once for each item, because its data may be large. */
  #nameOf(item: LeasedItem): string {
    if (this.#named?.item !== item) this.#named = { item, name: itemName(item) };
    return this.#named.name;
  }
}

/** As the policy counts: without lost and released attempts and those before a redrive. */
function countedAttempt({ spent }: LeasedItem): number {
  return spent + 1;
}
