/**
 * Keeps the letters of one queue within their limits. Runs, workers and `DlqManager` use it, each at its own moments; it
 * asks the store's counters and remembers only when it last looked for old letters.
 */
import type { Engine } from "../engine.ts";
import type { Clock } from "../kit/clock.ts";
import { fullnessOf, type LetterLimits } from "../redrive/limits.ts";
import { FullnessWarning } from "../redrive/nearly-full.ts";

export interface LimitGuardOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly limits: LetterLimits;
  /** Where archives go. */
  readonly home: string;
  /** In whose name letters are removed. */
  readonly author: string;
  readonly clock: Clock;
  /** Receives the warning of a queue that is nearly full. */
  readonly onNotice: (notice: string) => void;
}

/** How many letters were archived and deleted. */
export interface Removed {
  readonly purged: number;
  readonly evicted: number;
}

/** A letter's age is counted in days. */
const AGE_LOOK_MS = 3_600_000;
/** While work goes on, so much more than the limit is tolerated: an archive of each single letter helps nobody. */
const SLACK = 0.01;

/** Most runs remove nothing, and are not slowed by what writes archives. */
const enforcing = () => import("../redrive/enforce-limits.ts");

export class LimitGuard {
  readonly #options: LimitGuardOptions;
  readonly #warning: FullnessWarning;
  #ageLookAt = 0;

  constructor(options: LimitGuardOptions) {
    this.#options = options;
    this.#warning = new FullnessWarning(options.queue);
  }

  /** Archives and deletes what is too old, then what is too many. At the end of work the limits hold exactly. */
  async enforce({ isEnd }: { readonly isEnd: boolean }): Promise<Removed> {
    const { engine, clock, limits, onNotice, queue } = this.#options;
    const counts = await engine.count(queue);
    const notice = await this.#warning.look(engine, counts, limits);
    if (notice !== null) onNotice(notice);
    const hasLetters = counts.letters + counts.resolved + counts.discarded > 0;
    const isAgeDue = hasLetters && limits.retentionMs !== null && (isEnd || clock.now() >= this.#ageLookAt);
    if (isAgeDue) this.#ageLookAt = clock.now() + AGE_LOOK_MS;
    const purge = isAgeDue ? await (await enforcing()).purgeOld(engine, this.#options) : null;
    const slack = isEnd ? 0 : Math.floor((limits.itemsMax ?? 0) * SLACK);
    const isTooMany = fullnessOf(counts, limits).evict > slack;
    const evict = isTooMany ? await (await enforcing()).evictOldest(engine, this.#options) : null;
    return { purged: purge?.done ?? 0, evicted: evict?.done ?? 0 };
  }
}
