/** Runs actions concurrently up to a limit. The next call of `start` or `end` throws the first error. */

export class ConcurrencyLimit {
  readonly #max: number;
  readonly #running = new Set<Promise<void>>();
  #fault: { readonly error: unknown } | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** Starts the action as soon as the limit allows, and does not wait for it to finish. */
  async start(action: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#max) await Promise.race(this.#running);
    this.#throwFault();
    const running = action()
      .catch((error: unknown) => {
        this.#fault ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async end(): Promise<void> {
    await Promise.all(this.#running);
    this.#throwFault();
  }

  #throwFault(): void {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault) throw fault.error;
  }
}
