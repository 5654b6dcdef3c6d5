/** How the runner ends a single attempt. */

/** An `AttemptStop` or an `AbortSignal`, by which a process is ended. */
export interface StopSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Ends one attempt. Creates an `AbortSignal` only for a handler that reads it, because most of them cost more than their attempt. */
export class AttemptStop implements StopSignal {
  #isAborted = false;
  #listeners: (() => void)[] = NONE;
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#isAborted;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort();
    return this.#controller.signal;
  }

  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#controller?.abort();
    const listeners = this.#listeners;
    this.#listeners = NONE;
    for (const listener of listeners) listener();
  }

  /** Each listener is called at most once. */
  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.#isAborted) this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
  }
}

const NONE: (() => void)[] = [];

export function abortSignalOf(stop: StopSignal): AbortSignal {
  return stop instanceof AttemptStop ? stop.signal : (stop as AbortSignal);
}
