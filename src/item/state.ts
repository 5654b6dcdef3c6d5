/** The states of an item and every legal transition. Any other transition is a bug, for which `assertMove` throws. */
import { assert } from "../std/assert.ts";

/** Every state of an item. */
export const ITEM_STATES = ["ready", "leased", "held", "done", "dead", "skipped", "discarded"] as const;
/** One of `ITEM_STATES`. */
export type ItemState = (typeof ITEM_STATES)[number];

/**
 * The states of a letter: waiting (`dead`), being retried (`ready`, `leased`, `held`), discarded
 * (`discarded`) or resolved (`done`).
 */
export const LETTER_STATES = ["dead", "ready", "leased", "held", "discarded", "done"] as const;

/** Every legal transition of an item. */
export const MOVES = {
  lease: { from: "ready", to: "leased" },
  finish: { from: "leased", to: "done" },
  retry: { from: "leased", to: "ready" }, // after backoff; the attempt counts
  park: { from: "leased", to: "ready" }, // throttled or outage; the attempt does not count
  release: { from: "leased", to: "ready" }, // the runner failed or is shutting down; the attempt does not count
  skip: { from: "leased", to: "skipped" },
  bury: { from: "leased", to: "dead" },
  hold: { from: "ready", to: "held" },
  unhold: { from: "held", to: "ready" },
  redrive: { from: "dead", to: "ready" },
  recall: { from: "ready", to: "dead" }, // a cancelled redrive recalls items that have not been started
  discard: { from: "dead", to: "discarded" },
  restore: { from: "discarded", to: "dead" },
} as const satisfies Record<string, { from: ItemState; to: ItemState }>;

export type Move = keyof typeof MOVES;

/** Returns the state after the transition. Throws if the transition does not start in the state `from`. */
export function assertMove(move: Move, from: ItemState): ItemState {
  assert(MOVES[move].from === from, `illegal move: ${move} from ${from}`);
  return MOVES[move].to;
}

/** Power Automate's names for the same states, accepted as input. */
const STATE_ALIASES: ReadonlyMap<string, ItemState> = new Map([
  ["queued", "ready"],
  ["processing", "leased"],
  ["processed", "done"],
  ["onhold", "held"],
  ["failed", "dead"],
]);

/** Parses a state by its name or alias, ignoring case. */
export function parseItemState(text: string): ItemState | undefined {
  const word = text.toLowerCase();
  return ITEM_STATES.find((state) => state === word) ?? STATE_ALIASES.get(word);
}
