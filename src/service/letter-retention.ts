/** Enforces the limits of a running job's letters, some seconds after a letter was buried and at the end. */
import { fullnessOf, fullnessWarning, type LetterLimits } from "../redrive/limits.ts";
import { inRounds, type ServiceContext, type StartService } from "./service.ts";

type LetterRetentionOptions = { readonly limits: LetterLimits; readonly author: string };

/** Checks wait this long after a burial, because a failing run buries too many letters to check after each one. */
const CHECK_MS = 3000;
/** Ages are checked rarely, because they are measured in days. */
const AGE_CHECK_MS = 3_600_000;
/** Extends the text index in short steps, so that it does not delay the work of this process. */
export const INDEXING = { forMs: 20, leaveMax: 1000 };

export function letterRetention(options: LetterRetentionOptions): StartService {
  const { itemsMax, retentionMs } = options.limits;
  return inRounds(({ id: queue }, context) => {
    const { engine, onNotice } = context;
    const guard = new LimitGuard({ ...options, ...context, queue });
    const removed = { evicted: 0, purged: 0 };
    const report = (what: string, count: number) => {
      const where = `Run \`redrive ops list --job ${queue}\` to list them, and \`redrive ops undo\` to restore them.`;
      if (count > 0) onNotice(`Archived ${what}: ${count}. ${where}`);
    };
    return {
      startMs: retentionMs === null ? undefined : CHECK_MS,
      run: async ({ isLast }) => {
        const { evicted, purged } = await guard.enforce({ isEnd: isLast });
        removed.evicted += evicted;
        removed.purged += purged;
        await engine.catchUp(INDEXING);
        return retentionMs === null ? undefined : AGE_CHECK_MS;
      },
      wakeMs: () => CHECK_MS,
      errorText: (reason) =>
        `The limits of the dead letter queue could not be enforced: ${reason} Nothing is lost. Run \`redrive dlq maintain ${queue}\` to enforce them.`,
      concerns: (_, { death }) => death !== undefined,
      stopped: () => {
        report("letters that were too old", removed.purged);
        report(`the oldest letters, because ${queue} keeps at most ${itemsMax}`, removed.evicted);
      },
    };
  });
}

export type LimitGuardOptions = LetterRetentionOptions & ServiceContext & { readonly queue: string };

/** During a run, a queue may exceed its limit by this share, so that letters are archived in batches. */
const SLACK = 0.01;

/** Imported on demand, because most runs never remove letters. */
const enforcing = () => import("../redrive/enforce-limits.ts");

/** Enforces the limits of one queue, based on the counters in the store. */
export class LimitGuard {
  readonly #options: LimitGuardOptions;
  readonly #warning: ReturnType<typeof fullnessWarning>;
  #ageCheckAt = 0;

  constructor(options: LimitGuardOptions) {
    this.#options = options;
    this.#warning = fullnessWarning(options.engine, options.queue);
  }

  /** Archives and deletes letters that are too old, then those above the limit. With `isEnd`, the limits hold exactly. */
  async enforce({ isEnd }: { isEnd: boolean }) {
    const { engine, clock, limits, onNotice, queue } = this.#options;
    const counts = await engine.count(queue);
    const notice = await this.#warning(counts, limits);
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
