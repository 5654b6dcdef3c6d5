/**
 * Keeps the letters of a running job within their limits: it reads the store's counters a few seconds after a letter was buried, and
 * at the end. What it removes is archived first. The work never waits for it.
 */
import type { Engine } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import { FullnessWarning, fullnessOf, type LetterLimits } from "../redrive/limits.ts";
import { BackgroundTask } from "../std/background-task.ts";
import type { Clock } from "../std/clock.ts";
import type { Service, ServiceContext, StartService } from "./service.ts";

export interface LetterRetentionOptions {
  readonly limits: LetterLimits;
  /** The author of the operations that remove letters. */
  readonly author: string;
}

/** The service that enforces the limits of a job's letters. */
export function letterRetention(options: LetterRetentionOptions): StartService {
  return (job, context) => new LetterRetention(job.id, options, context);
}

/** In a bad run letters are buried so often that a check after each would be all the store does. */
const CHECK_MS = 3000;
/** The age of letters is measured in days. */
const AGE_CHECK_MS = 3_600_000;
/** The work of this process goes first, so the text index is extended in short steps. */
const INDEXING = { forMs: 20, leaveMax: 1000 };

class LetterRetention implements Service {
  readonly #queue: string;
  readonly #options: LetterRetentionOptions;
  readonly #context: ServiceContext;
  readonly #guard: LimitGuard;
  readonly #task: BackgroundTask;
  readonly #removed = { evicted: 0, purged: 0 };

  constructor(queue: string, options: LetterRetentionOptions, context: ServiceContext) {
    this.#queue = queue;
    this.#options = options;
    this.#context = context;
    this.#guard = new LimitGuard({ ...options, ...context, queue });
    this.#task = new BackgroundTask({
      ...context,
      run: ({ isLast }) => this.#enforce(isLast),
      wakeMs: () => CHECK_MS,
      errorText: (reason) =>
        `The limits of the dead letter queue could not be enforced: ${reason} Nothing is lost; \`redrive dlq maintain ${queue}\` does it later.`,
    });
    if (options.limits.retentionMs !== null) this.#task.wake();
  }

  settled(_item: LeasedItem, { death }: Settlement): void {
    if (death !== undefined) this.#task.wake();
  }

  async stop(): Promise<void> {
    await this.#task.stop();
    this.#reportRemoved();
  }

  async #enforce(isEnd: boolean): Promise<number | undefined> {
    const { evicted, purged } = await this.#guard.enforce({ isEnd });
    this.#removed.evicted += evicted;
    this.#removed.purged += purged;
    await this.#context.engine.catchUp(INDEXING);
    return this.#options.limits.retentionMs === null ? undefined : AGE_CHECK_MS;
  }

  #reportRemoved(): void {
    const { onNotice } = this.#context;
    const { evicted, purged } = this.#removed;
    const where = `\`redrive ops list --job ${this.#queue}\` lists them, and \`redrive ops undo\` restores them.`;
    if (purged > 0) onNotice(`Archived letters that were too old: ${purged}. ${where}`);
    if (evicted > 0) {
      const { itemsMax } = this.#options.limits;
      onNotice(
        `Archived the oldest letters, because ${this.#queue} keeps at most ${itemsMax}: ${evicted}. ${where}`,
      );
    }
  }
}

export interface LimitGuardOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly limits: LetterLimits;
  /** Where archives go. */
  readonly home: string;
  /** The author of the operations that remove letters. */
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

/** While work goes on, a queue may exceed its limit by this share: an archive for each single letter helps nobody. */
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
