/** Divides a long run of synchronous steps, so that other work in the process waits only a few milliseconds. */
const SLICE_MS = 5;

export class TimeSlice {
  #endsAt = performance.now() + SLICE_MS;

  /** Must be called between two steps. Lets other work run if the slice is over. */
  async next(): Promise<void> {
    if (performance.now() < this.#endsAt) return;
    await new Promise(setImmediate);
    this.#endsAt = performance.now() + SLICE_MS;
  }
}
