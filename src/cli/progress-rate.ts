/** How fast items come to their end: a rate over the last while that neither jumps nor clings to the past. */

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

/** `1,181/s`, `3.2/s`, `15/min`, `4/h`: in the unit in which it is at least one. */
export function rateText(perSecond: number): string {
  if (perSecond >= 1) return `${rounded(perSecond)}/s`;
  if (perSecond * 60 >= 1) return `${rounded(perSecond * 60)}/min`;
  return `${rounded(perSecond * 3600)}/h`;
}

function rounded(value: number): string {
  return value >= 9.95 ? thousands(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

/** A whole number as people read it: 1,234. */
export function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}
