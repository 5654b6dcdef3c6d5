/** Actions side by side, at most so many at a time. The first fault is thrown to whoever waits next, and no later one. */

/** Hands out room for actions. */
export class Lane {
  readonly #widthMax: number;
  readonly #running = new Set<Promise<void>>();
  #fault: { readonly error: unknown } | undefined;

  constructor(widthMax: number) {
    this.#widthMax = widthMax;
  }

  /** Starts the action as soon as there is room, and does not wait for its end. */
  async start(action: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#widthMax) await Promise.race(this.#running);
    this.#throwFault();
    const running = action()
      .catch((error: unknown) => {
        this.#fault ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all that was started has ended. */
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
