/** The settings of a queue as a worker obeys them: read when it begins, and looked at again every while as it works. */
import type { Engine } from "../engine.ts";
import { isStoreError } from "../errors.ts";
import type { Clock } from "../kit/clock.ts";
import { type QueueSpec, queueSpecOf } from "./spec.ts";

const LOOK_MS = 2000;

export class LiveSettings {
  readonly #engine: Engine;
  readonly #queue: string;
  readonly #clock: Clock;
  #spec: QueueSpec;
  #lookAt: number;
  #isLooking = false;

  constructor(engine: Engine, queue: string, begin: { readonly spec: QueueSpec; readonly clock: Clock }) {
    this.#engine = engine;
    this.#queue = queue;
    this.#clock = begin.clock;
    this.#spec = begin.spec;
    this.#lookAt = begin.clock.now() + LOOK_MS;
  }

  /** As they were at the last look, which is made anew in the background when it is some time ago. */
  readonly now = (): QueueSpec => {
    if (this.#clock.now() >= this.#lookAt && !this.#isLooking) void this.#look();
    return this.#spec;
  };

  /** A store that does not answer leaves the settings as they were; the runner meets the same trouble, and waits. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const job = await this.#engine.findJob(this.#queue);
      if (job !== null && JSON.stringify(job.spec) !== JSON.stringify(this.#spec))
        this.#spec = queueSpecOf(job);
    } catch (error) {
      if (!isStoreError(error)) throw error;
    } finally {
      this.#isLooking = false;
      this.#lookAt = this.#clock.now() + LOOK_MS;
    }
  }
}
