/** Keeps the letters of a running job within their limits: some seconds after a letter was buried, and at the end. */
import type { Engine } from "../engine.ts";
import { FullnessWarning, fullnessOf, type LetterLimits } from "../redrive/limits.ts";
import { BackgroundTask } from "../std/background-task.ts";
import type { Clock } from "../std/clock.ts";
import type { StartService } from "./service.ts";

export interface LetterRetentionOptions {
  readonly limits: LetterLimits;
  /** The author of the operations that remove letters. */
  readonly author: string;
}

/** In a bad run letters are buried so often that a check after each would be all the store does. */
const CHECK_MS = 3000;
/** The age of letters is measured in days. */
const AGE_CHECK_MS = 3_600_000;
/** The work of this process goes first, so the text index is extended in short steps. */
export const INDEXING = { forMs: 20, leaveMax: 1000 };

/** The service that enforces the limits of a job's letters. */
export function letterRetention(options: LetterRetentionOptions): StartService {
  const { itemsMax, retentionMs } = options.limits;
  return ({ id: queue }, context) => {
    const { engine, onNotice } = context;
    const guard = new LimitGuard({ ...options, ...context, queue });
    const removed = { evicted: 0, purged: 0 };
    const task = new BackgroundTask({
      ...context,
      run: async ({ isLast }) => {
        const { evicted, purged } = await guard.enforce({ isEnd: isLast });
        removed.evicted += evicted;
        removed.purged += purged;
        await engine.catchUp(INDEXING);
        return retentionMs === null ? undefined : AGE_CHECK_MS;
      },
      wakeMs: () => CHECK_MS,
      errorText: (reason) =>
        `The limits of the dead letter queue could not be enforced: ${reason} Nothing is lost; \`redrive dlq maintain ${queue}\` does it later.`,
    });
    if (retentionMs !== null) task.wake();
    const report = (what: string, count: number) => {
      const where = `\`redrive ops list --job ${queue}\` lists them, and \`redrive ops undo\` restores them.`;
      if (count > 0) onNotice(`Archived ${what}: ${count}. ${where}`);
    };
    return {
      settled: (_item, { death }) => {
        if (death !== undefined) task.wake();
      },
      stop: async () => {
        await task.stop();
        report("letters that were too old", removed.purged);
        report(`the oldest letters, because ${queue} keeps at most ${itemsMax}`, removed.evicted);
      },
    };
  };
}

export interface LimitGuardOptions extends LetterRetentionOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly home: string;
  readonly clock: Clock;
  /** Receives the warning of a queue that is nearly full. */
  readonly onNotice: (notice: string) => void;
}

export interface Removed {
  readonly purged: number;
  readonly evicted: number;
}

/** While work goes on, a queue may exceed its limit by this share, so that not every letter needs an archive. */
const SLACK = 0.01;

/** Loaded when something has to be removed, which most runs never do. */
const enforcing = () => import("../redrive/enforce-limits.ts");

/** Enforces the limits of one queue. It reads the store's counters and keeps only the time when it last looked for old letters. */
export class LimitGuard {
  readonly #options: LimitGuardOptions;
  readonly #warning: FullnessWarning;
  #ageCheckAt = 0;

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
    const isAgeDue = hasLetters && limits.retentionMs !== null && (isEnd || clock.now() >= this.#ageCheckAt);
    if (isAgeDue) this.#ageCheckAt = clock.now() + AGE_CHECK_MS;
    const purge = isAgeDue ? await (await enforcing()).purgeOld(engine, this.#options) : null;
    const slack = isEnd ? 0 : Math.floor((limits.itemsMax ?? 0) * SLACK);
    const isTooMany = fullnessOf(counts, limits).evict > slack;
    const evict = isTooMany ? await (await enforcing()).evictOldest(engine, this.#options) : null;
    return { purged: purge?.done ?? 0, evicted: evict?.done ?? 0 };
  }
}
