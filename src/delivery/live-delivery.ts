/** How receipts get to the other side, as the store has it now: looked at again when the last look is some time ago. */
import type { Engine } from "../engine.ts";
import { isStoreError } from "../errors.ts";
import type { Clock } from "../kit/clock.ts";
import { type DeliverySpec, targetSpecOf } from "./spec.ts";

const LOOK_MS = 2000;

export class LiveDelivery {
  readonly #engine: Engine;
  readonly #target: string;
  readonly #clock: Clock;
  #settings: DeliverySpec;
  #lookAt: number;
  #looking: Promise<void> | null = null;

  constructor(
    engine: Engine,
    target: string,
    begin: { readonly settings: DeliverySpec; readonly clock: Clock },
  ) {
    this.#engine = engine;
    this.#target = target;
    this.#clock = begin.clock;
    this.#settings = begin.settings;
    this.#lookAt = begin.clock.now() + LOOK_MS;
  }

  /** As they were at the last look. */
  get last(): DeliverySpec {
    return this.#settings;
  }

  /** What was changed for these or by others counts from the next receipt on, two seconds later at most. */
  async now(): Promise<DeliverySpec> {
    if (this.#clock.now() < this.#lookAt) return this.#settings;
    this.#looking ??= this.look().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
    return this.#settings;
  }

  /** A store that does not answer leaves them as they were; the runner meets the same trouble, and waits. */
  async look(): Promise<void> {
    try {
      const job = await this.#engine.findJob(this.#target);
      if (job !== null) this.#settings = targetSpecOf(job).delivery;
      this.#lookAt = this.#clock.now() + LOOK_MS;
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }
}
