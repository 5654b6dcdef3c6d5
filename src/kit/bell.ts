/** Rings for those who wait for something to happen under a name. Within one process only; nobody is ever rung twice at once. */

export class Bell {
  readonly #rings = new Map<string, Set<() => void>>();
  readonly #due = new Set<() => void>();

  /** The answer ends it. */
  on(name: string, ring: () => void): () => void {
    const one = () => ring(); // the same function may wait twice
    const rings = this.#rings.get(name) ?? new Set();
    this.#rings.set(name, rings.add(one));
    return () => {
      this.#due.delete(one);
      rings.delete(one);
      if (rings.size === 0 && this.#rings.get(name) === rings) this.#rings.delete(name);
    };
  }

  /** Rings soon, after the step that is the reason: who is rung may ask the store at once. */
  ring(name: string): void {
    const rings = this.#rings.get(name);
    if (rings === undefined) return;
    if (this.#due.size === 0) setImmediate(() => this.#ringAll());
    for (const ring of rings) this.#due.add(ring);
  }

  #ringAll(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const ring of due) ring();
  }
}
