/**
 * Lets equal requests that wait at the same time share one read of the store, as when many people have the same page open.
 * Nobody gets an answer that is older than the request: every read begins after the requests that share it have come.
 */
export class SharedReads<Answer> {
  /** The reads that have not begun, by what is read. */
  readonly #waiting = new Map<string, Promise<Answer>>();
  /** Resolve when the reads that have begun are over. */
  readonly #running = new Map<string, Promise<void>>();

  /** Returns the answer of a read that begins after this call. An error is thrown to all who share the read. */
  read(key: string, begin: () => Promise<Answer>): Promise<Answer> {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting;
    const answer = this.#begin(key, begin);
    this.#waiting.set(key, answer);
    return answer;
  }

  /** Waits for the read before it, which costs no time where the store can do only one thing at once, and saves work elsewhere. */
  async #begin(key: string, begin: () => Promise<Answer>): Promise<Answer> {
    await this.#running.get(key);
    await new Promise(setImmediate); // requests that have arrived already are read from their sockets first
    this.#waiting.delete(key);
    const answer = begin();
    const over = answer.then(
      () => {},
      () => {},
    );
    this.#running.set(key, over);
    try {
      return await answer;
    } finally {
      if (this.#running.get(key) === over) this.#running.delete(key);
    }
  }
}
