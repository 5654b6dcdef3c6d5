/**
 * Stores the progress that attempts report: at most once a second for each attempt, and always the newest
 * value. It is written separately from the runner's step. A value that cannot be stored is dropped and
 * reported, and the attempt continues.
 */
import { isStoreError } from "../errors.ts";
import type { Lease, LeasedItem } from "../item/item.ts";
import { systemClock } from "../std/clock.ts";
import type { Json } from "../std/json.ts";
import type { RunOptions } from "./run-options.ts";

const INTERVAL_MS = 1000;

/** The progress of one attempt. */
interface Reported {
  /** The newest value that is not stored yet; undefined if all values are stored. */
  waiting: { readonly value: Json } | undefined;
  cancel: () => void;
}

export class ProgressWriter {
  readonly #options: Pick<RunOptions, "engine" | "observer" | "clock">;
  readonly #reported = new Map<string, Reported>();

  constructor(options: Pick<RunOptions, "engine" | "observer" | "clock">) {
    this.#options = options;
  }

  /** Stores the first value immediately, and later ones when the interval is over. */
  report(item: LeasedItem, value: Json): void {
    const known = this.#reported.get(keyOf(item));
    if (known !== undefined) {
      known.waiting = { value };
      return;
    }
    const reported: Reported = { waiting: undefined, cancel: () => {} };
    this.#reported.set(keyOf(item), reported);
    this.#store(item, reported, value);
  }

  /** The attempt has ended, so progress that has not been stored yet is discarded. */
  forget(item: LeasedItem): void {
    if (this.#reported.size === 0) return;
    this.#reported.get(keyOf(item))?.cancel();
    this.#reported.delete(keyOf(item));
  }

  #store({ ref, attempt }: Lease, reported: Reported, value: Json): void {
    const { engine, observer, clock = systemClock } = this.#options;
    reported.waiting = undefined;
    engine.writeProgress({ ref, attempt }, value).catch((error: unknown) => {
      if (!isStoreError(error)) throw error;
      observer?.trouble?.(error);
    });
    reported.cancel = clock.after(INTERVAL_MS, () => {
      const { waiting } = reported;
      if (waiting === undefined) this.#reported.delete(keyOf({ ref, attempt }));
      else this.#store({ ref, attempt }, reported, waiting.value);
    });
  }
}

function keyOf({ ref, attempt }: Lease): string {
  return `${ref}/${attempt}`;
}
