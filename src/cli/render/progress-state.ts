/** Tracks progress: the recent rate of finished items, and the running items. */
import { activityFromJson, VERIFY_STEP } from "../../item/agent-activity.ts";
import { itemName, type LeasedItem } from "../../item/item.ts";
import { BriefMap } from "../../std/brief-map.ts";
import type { Clock } from "../../std/clock.ts";
import type { Json } from "../../std/json.ts";
import type { AgentView, Slowest } from "./progress-line.ts";
import { activityText } from "./usage.ts";

export interface Rate {
  readonly perSecond: number;
  /** Whether the rate is steady enough to estimate the end. */
  readonly isSteady: boolean;
}

interface Sample {
  readonly at: number;
  readonly finished: number;
}

/** The rate is measured over the last 10 s, or over the last 10 items if they took longer. */
const WINDOW = { ms: 10_000, items: 10 };
/** The minimum measurement for a steady rate. */
const STEADY = { ms: 3000, items: 5 };
const SAMPLE_MS = 500;
const SHOWN_FROM_MS = 1000;

export class RateMeter {
  /** Samples, oldest first; at most one for each half second of the window. */
  #samples: Sample[] = [];
  #latest: Sample | null = null;

  /** Records the number of finished items. If a redrive lowers that number, the measurement starts again. */
  add(at: number, finished: number): void {
    if (this.#latest !== null && finished < this.#latest.finished) this.#samples = [];
    this.#latest = { at, finished };
    const last = this.#samples.at(-1);
    if (last === undefined || (finished > last.finished && at - last.at >= SAMPLE_MS)) {
      this.#samples.push(this.#latest);
    }
    while (this.#isWindow(this.#samples[1], this.#latest)) this.#samples.shift();
  }

  /** Returns null if too little was measured. */
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

  /** Whether the window may start at this sample, so that older samples can be dropped. */
  #isWindow(sample: Sample | undefined, latest: Sample): boolean {
    if (sample === undefined) return false;
    return latest.at - sample.at >= WINDOW.ms && latest.finished - sample.finished >= WINDOW.items;
  }
}

interface Running {
  readonly item: LeasedItem;
  /** The start by the clock of this process, because the store's clock may differ. */
  readonly since: number;
  step?: string;
  activity?: string | undefined;
}

export class RunningItems {
  readonly #clock: Clock;
  readonly #byRef = new BriefMap<number, Running>();
  /** Items by slot. If a slot has a new item, the old one has ended, even if its end was not reported. */
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
    this.#byRef.delete(item.ref); // moves the item to the end of the map
    this.#byRef.set(item.ref, running);
  }

  /** Removes the item, unless it already has a newer attempt. */
  ended(item: LeasedItem): void {
    if (this.#byRef.get(item.ref)?.item.attempt === item.attempt) this.#byRef.delete(item.ref);
  }

  step(item: LeasedItem, step: string): void {
    const running = this.#byRef.get(item.ref);
    if (running?.item.attempt !== item.attempt) return;
    running.step = step;
    running.activity = undefined;
  }

  /** Shows the last action of an agent. Progress in another form is not shown. */
  progress(item: LeasedItem, value: Json): void {
    const running = this.#byRef.get(item.ref);
    const activity = activityFromJson(value);
    if (running?.item.attempt === item.attempt && activity) running.activity = activityText(activity);
  }

  /** Returns the items with a known step, longest running first, with items that wait for verification last. */
  agents(): readonly AgentView[] {
    const now = this.#clock.now();
    const all = [...this.#byRef.values()];
    const isVerified = ({ step }: Running) => step?.endsWith(`: ${VERIFY_STEP}`) === true;
    const sorted = [...all.filter((one) => !isVerified(one)), ...all.filter(isVerified)];
    return sorted.flatMap(({ item, since, step, activity }) =>
      step === undefined
        ? []
        : [{ name: itemName(item), attempt: countedAttempt(item), elapsedMs: now - since, step, activity }],
    );
  }

  slowest(): Slowest | null {
    for (const { item, since } of this.#byRef.values()) {
      const elapsedMs = Math.max(0, this.#clock.now() - since);
      return { name: this.#nameOf(item), attempt: countedAttempt(item), elapsedMs };
    }
    return null;
  }

  /** Caches the name of the last item, because computing it from large data is slow. */
  #nameOf(item: LeasedItem): string {
    if (this.#named?.item !== item) this.#named = { item, name: itemName(item) };
    return this.#named.name;
  }
}

/** Counts like the policy: without lost and released attempts, and without those before a redrive. */
function countedAttempt({ attemptsCounted }: LeasedItem): number {
  return attemptsCounted + 1;
}
