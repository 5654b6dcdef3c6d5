/**
 * Lets equal concurrent requests share one read of the store, for example when many people have the same page
 * open. No response is older than its request: a shared read begins after all requests that share it have
 * arrived.
 */
export class SharedReads<Answer> {
  /** Pending reads that have not begun, by key. */
  readonly #waiting = new Map<string, Promise<Answer>>();
  /** Resolve when reads that have begun are finished. */
  readonly #running = new Map<string, Promise<void>>();

  /**
   * Returns the result of a read that begins after this call. An error is thrown to all callers that share
   * the read.
   */
  read(key: string, begin: () => Promise<Answer>): Promise<Answer> {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting;
    const answer = this.#begin(key, begin);
    this.#waiting.set(key, answer);
    return answer;
  }

  /**
   * Waits for the previous read. That costs no time if the store processes one read at a time, and saves work
   * otherwise.
   */
  async #begin(key: string, begin: () => Promise<Answer>): Promise<Answer> {
    await this.#running.get(key);
    await new Promise(setImmediate); // lets Node read requests that have already arrived
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
