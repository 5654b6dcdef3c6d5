/** Writes as an event of the queue that the store could not be written for a while. The work never waits for it. */
import { hostname } from "node:os";
import type { Engine } from "../engine.ts";
import type { WorkError } from "../errors.ts";
import type { Patience } from "./patience.ts";

export class Teller {
  readonly #engine: Engine;
  readonly #queue: string;
  #trouble = "";
  #telling: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, queue: string) {
    this.#engine = engine;
    this.#queue = queue;
  }

  /** It cannot be written down before the store is back. */
  trouble(error: WorkError): void {
    this.#trouble = error.message;
  }

  recovered(patience: Patience): void {
    const event = {
      type: "store_write_failed",
      data: { message: this.#trouble, machine: hostname() },
    } as const;
    const written = patience.through(() => this.#engine.changeJob(this.#queue, { event }));
    this.#telling = Promise.all([this.#telling, written]).then(() => undefined);
    this.#telling.catch(() => undefined); // `told` is where it is heard
  }

  /** Resolves when everything is written, and rejects when something could not be. */
  async told(): Promise<void> {
    await this.#telling;
  }
}
