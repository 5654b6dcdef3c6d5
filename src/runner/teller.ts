/** Writes what happens to the queue itself as events: its breaker, and a store that could not be written for a while. */
import type { Engine } from "../engine.ts";
import type { WorkError } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import type { JsonObject } from "../kit/json.ts";
import type { Gate } from "./gate.ts";
import type { Patience } from "./patience.ts";

/** The work never waits for what is told here. */
export class Teller {
  readonly #engine: Engine;
  readonly #queue: string;
  #isBreakerOpen = false;
  #trouble = "";
  #telling: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, queue: string) {
    this.#engine = engine;
    this.#queue = queue;
  }

  /** Half open is neither: a few probes decide what is told next. */
  lookAt(gate: Gate, patience: Patience): void {
    if (gate.isBreakerOpen === this.#isBreakerOpen || gate.isProbing) return;
    this.#isBreakerOpen = gate.isBreakerOpen;
    this.#tell(gate.isBreakerOpen ? "breaker_opened" : "breaker_closed", {}, patience);
  }

  /** It cannot be written down before the store is back. */
  trouble(error: WorkError): void {
    this.#trouble = error.message;
  }

  recovered(patience: Patience): void {
    this.#tell("store_write_failed", { message: this.#trouble }, patience);
  }

  /** Resolves when everything is written, and rejects when something could not be. */
  async told(): Promise<void> {
    await this.#telling;
  }

  #tell(type: EventType, data: JsonObject, patience: Patience): void {
    const written = patience.through(() => this.#engine.changeJob(this.#queue, { event: { type, data } }));
    this.#telling = Promise.all([this.#telling, written]).then(() => undefined);
    this.#telling.catch(() => undefined); // `told` is where it is heard
  }
}
