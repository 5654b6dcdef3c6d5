/**
 * Keeps a running job's letters within their limits, beside the work: it counts nothing for itself, but looks at the
 * store's own counters a while after it has heard of a burial, and at the end. The work never waits for it.
 */
import { isStoreTrouble } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { LetterLimits } from "../redrive/limits.ts";
import type { Companion, CompanionSurroundings, OpenCompanion } from "./companion.ts";
import { LimitGuard } from "./limit-guard.ts";

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
/** A short step now and then, when many letters have come: the work of this process goes first. */
const CATCHING_UP = { forMs: 20, leaveMax: 1000 };

class Keeper implements Companion {
  readonly #queue: string;
  readonly #options: KeeperOptions;
  readonly #surroundings: CompanionSurroundings;
  readonly #guard: LimitGuard;
  readonly #removed = { evicted: 0, purged: 0 };
  #cancelTimer: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #lookAt = Number.POSITIVE_INFINITY;
  /** A burial was heard of while it looked. */
  #isBehind = false;
  #hasComplained = false;
  #isOver = false;

  constructor(queue: string, options: KeeperOptions, surroundings: CompanionSurroundings) {
    this.#queue = queue;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#guard = new LimitGuard({ ...options, ...surroundings, queue });
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
    const { evicted, purged } = await this.#guard.enforce({ isEnd: this.#isOver });
    this.#removed.evicted += evicted;
    this.#removed.purged += purged;
    await this.#surroundings.engine.catchUp(CATCHING_UP);
  }

  #sayRemoved(): void {
    const { onNotice } = this.#surroundings;
    const { limits } = this.#options;
    const { evicted, purged } = this.#removed;
    const where = `\`redrive ops list --job ${this.#queue}\` shows them, and \`redrive ops undo\` brings them back.`;
    if (purged > 0) onNotice(`Letters that are too old were archived: ${purged}. ${where}`);
    if (evicted > 0) {
      onNotice(
        `The oldest letters were archived, for ${this.#queue} keeps ${limits.itemsMax}: ${evicted}. ${where}`,
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
