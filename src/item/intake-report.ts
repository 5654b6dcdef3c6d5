/** How items are taken in and taken out of the line, and what became of them. Nouns only. */
import type { JsonObject } from "../kit/json.ts";
import type { ItemState } from "./state.ts";

export interface AddOptions {
  /** What an item that is there and waits becomes when it comes with other data. */
  readonly replace?: { readonly author: string };
  /** Whether they are new, as far as anybody knows: a store may look for them only when one is there after all. Default no. */
  readonly areNew?: boolean;
  /**
   * Whether their ids were made up for this call, so that one which is there already can only have come in by it: a store whose
   * answer was lost on the way may then simply do it again. Default no.
   */
  readonly areMadeUp?: boolean;
  /**
   * The settings of the queue that they obey, as `findJob` gave them. When it has others by now, nothing is added: a
   * `job_changed` error. Default: any.
   */
  readonly spec?: JsonObject;
}

/** What became of a batch of items. */
export interface AddReport {
  readonly added: number;
  /** Already there with the same data. */
  readonly existing: number;
  /** Already there with other data; the stored data is kept. The ids, at most 10. */
  readonly changed: number;
  readonly changedIds: readonly string[];
  /** Got the new data, because that was asked for. They are not among the changed. */
  readonly replaced: number;
}

/** Who takes items out of the line or puts them back. */
export interface HoldBy {
  readonly author: string;
  readonly reason?: string;
}

export interface HoldReport {
  readonly moved: number;
  /** With the state that they are in; null for one that is not there. */
  readonly refused: readonly { readonly itemId: string; readonly state: ItemState | null }[];
}
