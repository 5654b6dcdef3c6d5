/**
 * Looks after the letters of a queue that never ends, beside its workers: closes the books of redrives that have come to
 * their end, keeps the limits, and uses the fixes that are said to be automatic. Of all the workers of a queue, on whatever
 * machines, one tends it at a time; when that one is gone, another takes over within half a minute.
 */
import { isStoreTrouble } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { isJsonObject } from "../kit/json.ts";
import { randomName } from "../kit/random.ts";
import type { FixRule } from "../redrive/fix-rule.ts";
import type { LetterLimits } from "../redrive/limits.ts";
import { Patience } from "../runner/patience.ts";
import type { Companion, CompanionSurroundings, OpenCompanion } from "./companion.ts";
import { LimitGuard } from "./limit-guard.ts";

export interface TendingOptions {
  /** Default: none. */
  readonly limits?: LetterLimits;
  /** Fixes that are used as letters come, and what they change is sent back to work. Default: none. */
  readonly fixes?: readonly FixRule[];
  /** In whose name. Default `redrive`. */
  readonly author?: string;
}

/** A companion of a worker. */
export function tending(options: TendingOptions = {}): OpenCompanion {
  return (job, surroundings) => new Tender(job, options, surroundings);
}

const LOOK_MS = 3000;
/** Whoever tends says so with every look; after so long of silence it is another's turn. */
const TURN_MS = 30_000;
/** A short step now and then: the work of this process goes first. */
const CATCHING_UP = { forMs: 20, leaveMax: 1000 };
const STORE_WAIT_MS = 30_000;

class Tender implements Companion {
  readonly #job: Job;
  readonly #options: TendingOptions;
  readonly #surroundings: CompanionSurroundings;
  readonly #name = randomName(10);
  readonly #stop = new AbortController();
  readonly #guard: LimitGuard | null;
  #cancelTimer: () => void;
  #looking: Promise<void> = Promise.resolve();
  /** Burials up to this event were looked at by the fixes. */
  #fixedTo: number | null = null;
  #complaint = "";

  constructor(job: Job, options: TendingOptions, surroundings: CompanionSurroundings) {
    this.#job = job;
    this.#options = options;
    this.#surroundings = surroundings;
    const { limits, author = "redrive" } = options;
    this.#guard = limits ? new LimitGuard({ ...surroundings, queue: job.id, limits, author }) : null;
    this.#cancelTimer = this.#lookLater();
  }

  /** A worker that ran for a second has buried letters too. Whoever comes next need not wait for its turn. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelTimer();
    await this.#looking;
    await this.#guarded(async () => {
      if (!(await this.#takeTurn(TURN_MS))) return;
      await this.#closeBooks();
      await this.#keepLimits({ isEnd: true });
      await this.#takeTurn(0);
    });
  }

  #lookLater(): () => void {
    return this.#surroundings.clock.after(LOOK_MS, () => {
      this.#looking = this.#guarded(() => this.#look()).finally(() => {
        if (!this.#stop.signal.aborted) this.#cancelTimer = this.#lookLater();
      });
    });
  }

  async #look(): Promise<void> {
    if (!(await this.#takeTurn(TURN_MS))) return;
    await this.#closeBooks();
    await this.#surroundings.engine.catchUp(CATCHING_UP);
    await this.#keepLimits({ isEnd: false });
    if (this.#options.fixes?.length) await this.#useFixes(this.#options.fixes);
  }

  /** True when it is ours for so long from now on. Two that ask at once cannot both have it. */
  async #takeTurn(forMs: number): Promise<boolean> {
    const { engine } = this.#surroundings;
    const name = `tending/${this.#job.id}`;
    const found = await engine.readDocument(name);
    const now = await engine.now();
    const turn = isJsonObject(found?.body) ? found.body : {};
    const isOthers = turn.by !== this.#name && typeof turn.until === "number" && turn.until > now;
    if (isOthers) return false;
    const body = { by: this.#name, until: now + forMs };
    return engine.writeDocument(name, { seen: found?.version ?? 0, body });
  }

  /** The work of an operation is done by workers, and none of them knows which letter was the last. */
  async #closeBooks(): Promise<void> {
    const { engine } = this.#surroundings;
    for (const { id, kind } of await engine.listOperations({ queue: this.#job.id, open: true }))
      if (kind === "redrive") await engine.closeOperation(id);
  }

  async #keepLimits(when: { readonly isEnd: boolean }): Promise<void> {
    const removed = await this.#guard?.enforce(when);
    this.#tellRemoved("too old", removed?.purged ?? 0);
    this.#tellRemoved("too many", removed?.evicted ?? 0);
  }

  #tellRemoved(why: string, count: number): void {
    if (count === 0) return;
    const where = `\`redrive ops list --queue ${this.#job.id}\` shows it, and \`redrive ops undo\` brings them back.`;
    this.#surroundings.onNotice(
      `Letters of ${this.#job.id} that are ${why} were archived: ${count}. ${where}`,
    );
  }

  /** Only when a letter has come since the last look: there may be many that no rule is for. */
  async #useFixes(rules: readonly FixRule[]): Promise<void> {
    const { engine, clock, onNotice } = this.#surroundings;
    const { author = "redrive" } = this.#options;
    const newest = await engine.newestEvent();
    if (this.#fixedTo !== null && !(await this.#hasBurials(this.#fixedTo))) {
      this.#fixedTo = newest;
      return;
    }
    const { autoFix } = await import("./auto-fix.ts");
    const { signal } = this.#stop;
    const feed = await autoFix({ engine, clock, author, stop: signal }, { job: this.#job, rules, onNotice });
    const patience = new Patience(STORE_WAIT_MS, clock);
    for await (const _ of feed?.(patience, signal) ?? []) if (signal.aborted) break;
    this.#fixedTo = newest;
  }

  async #hasBurials(after: number): Promise<boolean> {
    const types = ["dlq_item_added"] as const;
    const { engine } = this.#surroundings;
    return (await engine.listEvents({ queue: this.#job.id, types, after, limit: 1 })).length > 0;
  }

  /** A store that cannot be read now is the worker's concern; anything else is said, and not again and again. */
  async #guarded(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (isStoreTrouble(error) || reason === this.#complaint) return;
      this.#complaint = reason;
      this.#surroundings.onNotice(
        `The letters of ${this.#job.id} could not be looked after: ${reason} Nothing is lost; \`redrive dlq maintain ${this.#job.id}\` keeps the limits.`,
      );
    }
  }
}
