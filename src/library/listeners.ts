/**
 * Typed event listeners. An exception in a listener never affects the worker; it is passed to the listeners
 * of `error`.
 */

type Listener<Event> = (event: Event) => unknown;

export class Listeners<Events extends { readonly error: unknown }> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(listener));
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    this.#listeners.get(name)?.delete(listener);
  }

  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        const answer = (listener as Listener<Events[Name]>)(event);
        if (answer instanceof Promise) answer.catch((error: unknown) => this.#failed(name, error));
      } catch (error) {
        this.#failed(name, error);
      }
    }
  }

  /** An error in an `error` listener is only reported as a warning, to avoid an endless loop. */
  #failed(name: keyof Events, error: unknown): void {
    if (name !== "error" && this.has("error")) this.emit("error", error as Events["error"]);
    else process.emitWarning(error instanceof Error ? error : String(error));
  }
}
