/**
 * Keeps the letter directory of a running job up to date, beside the work. It writes one batch at a time, and rests
 * after each for as long as it took many times over: the work never waits for it, and however many letters come, the
 * index is not written for each.
 */
import type { Projection } from "../dead-letter/projection.ts";
import { isStoreTrouble } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Companion, CompanionSurroundings, OpenCompanion } from "./companion.ts";
import { type DirectoryPlace, openProjection } from "./letter-directory.ts";

/** A companion that writes the job's letter directory. */
export function mirroring(options: Omit<DirectoryPlace, "home"> = {}): OpenCompanion {
  return (job, surroundings) => {
    const { engine, home } = surroundings;
    return new Mirroring(openProjection(engine, job, { ...options, home }), surroundings);
  };
}

const PAUSE_MS_MIN = 500;
/** At most one id is written into an index per millisecond of a run. */
const PAUSE_MS_PER_ITEM = 1;
/** Of the time of a run, at most a tenth is spent here. */
const PAUSE_PER_WORK = 9;

class Mirroring implements Companion {
  readonly #projection: Projection;
  readonly #surroundings: CompanionSurroundings;
  #pauseMs = PAUSE_MS_MIN;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #isBehind = false;
  #isOver = false;
  /** Whether there was anything to write, ever. */
  #hasWork: boolean;
  #hasComplained = false;

  constructor(projection: Projection, surroundings: CompanionSurroundings) {
    this.#projection = projection;
    this.#surroundings = surroundings;
    this.#hasWork = projection.isThere;
    if (this.#hasWork) this.#wake(); // others may have changed letters since it was written
  }

  settled(item: LeasedItem, { grave }: Settlement): void {
    if (grave !== undefined || item.redriveCount > 0) this.#wake();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#cancelTimer?.();
    await this.#writing;
    if (this.#hasWork) await this.#guarded(() => this.#projection.finish());
  }

  #wake(): void {
    this.#hasWork = true;
    this.#isBehind = true;
    if (this.#isOver || this.#writing || this.#cancelTimer) return;
    this.#cancelTimer = this.#surroundings.clock.after(this.#pauseMs, () => this.#write());
  }

  #write(): void {
    this.#cancelTimer = undefined;
    this.#isBehind = false;
    this.#writing = this.#guarded(() => this.#measured()).finally(() => {
      this.#writing = undefined;
      if (this.#isBehind) this.#wake();
    });
  }

  async #measured(): Promise<void> {
    const { clock } = this.#surroundings;
    const startedAt = clock.now();
    const { items } = await this.#projection.catchUp();
    const tookMs = clock.now() - startedAt;
    this.#pauseMs = Math.max(PAUSE_MS_MIN, items * PAUSE_MS_PER_ITEM, tookMs * PAUSE_PER_WORK);
  }

  /** A store that cannot be read now is the runner's concern; anything else is said, once. */
  async #guarded(action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#isBehind = true;
      if (this.#hasComplained || (isStoreTrouble(error) && !this.#isOver)) return;
      this.#hasComplained = true;
      const reason = error instanceof Error ? error.message : String(error);
      this.#surroundings.onNotice(
        `The letter directory ${this.#projection.folder} could not be written: ${reason}. Nothing is lost: the store has every letter, and \`redrive dlq mirror\` writes the directory anew.`,
      );
    }
  }
}
