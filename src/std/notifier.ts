/** Notifies listeners of a name within one process. Notifications that arrive together are delivered once. */

export class Notifier {
  readonly #notifications = new Map<string, Set<() => void>>();
  readonly #due = new Set<() => void>();

  on(name: string, notify: () => void): () => void {
    const one = () => notify(); // the same function may be added twice
    const notifications = this.#notifications.get(name) ?? new Set();
    this.#notifications.set(name, notifications.add(one));
    return () => {
      this.#due.delete(one);
      notifications.delete(one);
      if (notifications.size === 0 && this.#notifications.get(name) === notifications)
        this.#notifications.delete(name);
    };
  }

  /** Notifies the listeners asynchronously, so that they may call the store right away. */
  notify(name: string): void {
    const notifications = this.#notifications.get(name);
    if (notifications === undefined) return;
    if (this.#due.size === 0) setImmediate(() => this.#notifyAll());
    for (const notify of notifications) this.#due.add(notify);
  }

  #notifyAll(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const notify of due) notify();
  }
}
