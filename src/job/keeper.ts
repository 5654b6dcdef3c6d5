/**
 * Keeps a running job's letters within their limits, beside the work: it counts nothing for itself, but looks at the
 * store's own counters a while after it has heard of a burial, and at the end. The work never waits for it.
 */
import { isStoreTrouble } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Operation } from "../item/operation.ts";
import { fullnessOf, type LetterLimits } from "../redrive/limits.ts";
import { FullnessWarning } from "../redrive/nearly-full.ts";
import type { Companion, CompanionSurroundings, OpenCompanion } from "./companion.ts";

export interface KeeperOptions {
  readonly limits: LetterLimits;
  /** In whose name letters are removed. */
  readonly author: string;
}

/** A companion that enforces the limits. */
export function keeping(options: KeeperOptions): OpenCompanion {
  return (job, surroundings) => new Keeper(job.id, options, surroundings);
}

/** Burials are so frequent in a bad run that looking after each would be all the store does. */
const LOOK_MS = 3000;
/** A letter's age is counted in days. */
const AGE_LOOK_MS = 3_600_000;
/** While the job runs, so much more than the limit is waited for: an archive of each single letter helps nobody. */
const SLACK = 0.01;

/** A short step now and then, when many letters have come: the work of this process goes first. */
const CATCHING_UP = { forMs: 20, leaveMax: 1000 };

/** Most runs remove nothing, and are not slowed by what writes archives. */
const enforcing = () => import("../redrive/enforce-limits.ts");

class Keeper implements Companion {
  readonly #queue: string;
  readonly #options: KeeperOptions;
  readonly #surroundings: CompanionSurroundings;
  readonly #warning: FullnessWarning;
  readonly #removed = { evict: 0, purge: 0 };
  #cancelTimer: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #lookAt = Number.POSITIVE_INFINITY;
  /** A burial was heard of while it looked. */
  #isBehind = false;
  #ageLookAt: number;
  #hasComplained = false;
  #isOver = false;

  constructor(queue: string, options: KeeperOptions, surroundings: CompanionSurroundings) {
    this.#queue = queue;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#warning = new FullnessWarning(queue);
    this.#ageLookAt = surroundings.clock.now() + LOOK_MS;
    if (options.limits.retentionMs !== null) this.#lookIn(LOOK_MS);
  }

  settled(_item: LeasedItem, { grave }: Settlement): void {
    if (grave === undefined) return;
    this.#isBehind = true;
    this.#lookIn(LOOK_MS);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#cancelTimer?.();
    await this.#looking;
    await this.#guarded(() => this.#look());
    this.#sayRemoved();
  }

  #lookIn(ms: number): void {
    const { clock } = this.#surroundings;
    const at = clock.now() + ms;
    if (this.#isOver || this.#looking !== undefined || this.#lookAt <= at) return;
    this.#cancelTimer?.();
    this.#lookAt = at;
    this.#cancelTimer = clock.after(ms, () => this.#begin());
  }

  #begin(): void {
    this.#lookAt = Number.POSITIVE_INFINITY;
    this.#isBehind = false;
    this.#looking = this.#guarded(() => this.#look()).finally(() => {
      this.#looking = undefined;
      if (this.#isBehind) this.#lookIn(LOOK_MS);
      else if (this.#options.limits.retentionMs !== null) this.#lookIn(AGE_LOOK_MS);
    });
  }

  async #look(): Promise<void> {
    const { engine, clock, onNotice } = this.#surroundings;
    const { limits } = this.#options;
    const counts = await engine.count(this.#queue);
    const notice = await this.#warning.look(engine, counts, limits);
    if (notice !== null) onNotice(notice);
    const isKept = counts.letters + counts.resolved + counts.discarded > 0;
    if (isKept && (this.#isOver || clock.now() >= this.#ageLookAt)) {
      this.#ageLookAt = clock.now() + AGE_LOOK_MS;
      this.#count(await (await enforcing()).purgeOld(engine, this.#request()));
    }
    const slack = this.#isOver ? 0 : Math.floor((limits.itemsMax ?? 0) * SLACK);
    if (fullnessOf(counts, limits).evict > slack) {
      this.#count(await (await enforcing()).evictOldest(engine, this.#request()));
    }
    await engine.catchUp(CATCHING_UP);
  }

  #request() {
    return { ...this.#options, queue: this.#queue, home: this.#surroundings.home };
  }

  #count(operation: Operation | null): void {
    if (operation?.kind === "evict" || operation?.kind === "purge")
      this.#removed[operation.kind] += operation.done;
  }

  #sayRemoved(): void {
    const { onNotice } = this.#surroundings;
    const { limits } = this.#options;
    const { evict, purge } = this.#removed;
    const where = `\`redrive ops list --job ${this.#queue}\` shows them, and \`redrive ops undo\` brings them back.`;
    if (purge > 0) onNotice(`Letters that are too old were archived: ${purge}. ${where}`);
    if (evict > 0) {
      onNotice(
        `The oldest letters were archived, for ${this.#queue} keeps ${limits.itemsMax}: ${evict}. ${where}`,
      );
    }
  }

  /** A store that cannot be read now is the runner's concern; anything else is said, once. */
  async #guarded(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (this.#hasComplained || (isStoreTrouble(error) && !this.#isOver)) return;
      this.#hasComplained = true;
      const reason = error instanceof Error ? error.message : String(error);
      this.#surroundings.onNotice(
        `The limits of the dead letter queue could not be kept: ${reason} Nothing is lost; \`redrive dlq maintain ${this.#queue}\` does it later.`,
      );
    }
  }
}
