/**
 * Maintains the letters of a queue that never ends: takes back the letters of cancelled redrives, enforces the limits, and applies
 * automatic fixes. Of all workers of a queue, on any machine, one maintains it at a time; another takes over within 30 seconds.
 */

import type { Job } from "../item/job.ts";
import type { FixRule } from "../redrive/fix-rule.ts";
import type { LetterLimits } from "../redrive/limits.ts";
import { recallCancelled } from "../redrive/operation.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import { BackgroundTask } from "../std/background-task.ts";
import { LimitGuard } from "./letter-retention.ts";
import { Leader, type Service, type ServiceContext, type StartService } from "./service.ts";

export interface MaintenanceOptions {
  /** Default: none. */
  readonly limits?: LetterLimits;
  /** Fixes that are applied to new letters; what they change is redriven. Default: none. */
  readonly fixes?: readonly FixRule[];
  /** The author of the operations. Default `redrive`. */
  readonly author?: string;
}

/** The service that maintains a queue beside its workers. */
export function queueMaintainer(options: MaintenanceOptions = {}): StartService {
  return (job, context) => new QueueMaintainer(job, options, context);
}

const CHECK_MS = 3000;
/** The leader renews its term with every check; after this time of silence another process takes over. */
const TERM_MS = 30_000;
/** The work of this process goes first, so the text index is extended in short steps. */
const INDEXING = { forMs: 20, leaveMax: 1000 };
const STORE_WAIT_MS = 30_000;

class QueueMaintainer implements Service {
  readonly #job: Job;
  readonly #options: MaintenanceOptions;
  readonly #context: ServiceContext;
  readonly #stop = new AbortController();
  readonly #leader: Leader;
  readonly #guard: LimitGuard | null;
  readonly #task: BackgroundTask;
  /** Letters up to this event were offered to the fixes. */
  #fixedTo: number | null = null;

  constructor(job: Job, options: MaintenanceOptions, context: ServiceContext) {
    this.#job = job;
    this.#options = options;
    this.#context = context;
    const { limits, author = "redrive" } = options;
    this.#leader = new Leader(context.engine, `maintenance/${job.id}`);
    this.#guard = limits ? new LimitGuard({ ...context, queue: job.id, limits, author }) : null;
    this.#task = new BackgroundTask({
      ...context,
      run: ({ isLast }) => this.#maintain(isLast),
      wakeMs: () => CHECK_MS,
      errorText: (reason) =>
        `The letters of ${job.id} could not be maintained: ${reason} Nothing is lost; \`redrive dlq maintain ${job.id}\` enforces the limits.`,
    });
    this.#task.wake();
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return this.#task.stop();
  }

  /** Even a worker that ran for a second has buried letters, so there is a last round. */
  async #maintain(isLast: boolean): Promise<number> {
    if (!(await this.#leader.acquire(TERM_MS))) return CHECK_MS;
    await recallCancelled(this.#context.engine, this.#job.id);
    if (!isLast) await this.#context.engine.catchUp(INDEXING);
    await this.#enforceLimits(isLast);
    if (isLast) await this.#leader.resign();
    else if (this.#options.fixes?.length) await this.#applyFixes(this.#options.fixes);
    return CHECK_MS;
  }

  async #enforceLimits(isEnd: boolean): Promise<void> {
    const removed = await this.#guard?.enforce({ isEnd });
    this.#reportRemoved("too old", removed?.purged ?? 0);
    this.#reportRemoved("too many", removed?.evicted ?? 0);
  }

  #reportRemoved(why: string, count: number): void {
    if (count === 0) return;
    const where = `\`redrive ops list --queue ${this.#job.id}\` lists them, and \`redrive ops undo\` restores them.`;
    this.#context.onNotice(`Archived letters of ${this.#job.id} that were ${why}: ${count}. ${where}`);
  }

  /** Only when a letter was buried since the last time: there may be many that no rule matches. */
  async #applyFixes(rules: readonly FixRule[]): Promise<void> {
    const { engine, clock, onNotice } = this.#context;
    const { author = "redrive" } = this.#options;
    const newest = await engine.newestEvent();
    if (this.#fixedTo === null || (await this.#hasNewLetters(this.#fixedTo))) {
      const { autoFix } = await import("../redrive/auto-fix.ts");
      const { signal } = this.#stop;
      const deps = { engine, clock, author, stop: signal };
      const feed = await autoFix(deps, { job: this.#job, rules, onNotice });
      const storeRetry = new StoreRetry(STORE_WAIT_MS, clock);
      for await (const _ of feed?.(storeRetry, signal) ?? []) if (signal.aborted) break;
    }
    this.#fixedTo = newest;
  }

  async #hasNewLetters(after: number): Promise<boolean> {
    const types = ["dlq_item_added"] as const;
    const { engine } = this.#context;
    return (await engine.listEvents({ queue: this.#job.id, types, after, limit: 1 })).length > 0;
  }
}
