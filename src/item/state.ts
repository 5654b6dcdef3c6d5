/** The states of an item and every legal move between them. A move that is not listed is a bug: `assertMove` throws. */
import { assert } from "../std/assert.ts";

/** Every state of an item. */
export const ITEM_STATES = ["ready", "leased", "held", "done", "dead", "skipped", "discarded"] as const;
/** One of `ITEM_STATES`. */
export type ItemState = (typeof ITEM_STATES)[number];

/** The states of a letter: waiting, being redriven, or resolved. */
export const LETTER_STATES = ["dead", "ready", "leased", "held", "discarded", "done"] as const;

/** Every legal move of an item. */
export const MOVES = {
  lease: { from: "ready", to: "leased" },
  finish: { from: "leased", to: "done" },
  retry: { from: "leased", to: "ready" }, // after backoff; the attempt counts
  park: { from: "leased", to: "ready" }, // throttled or outage; the attempt does not count
  release: { from: "leased", to: "ready" }, // the runner's own fault or shutdown; the attempt does not count
  skip: { from: "leased", to: "skipped" },
  bury: { from: "leased", to: "dead" },
  hold: { from: "ready", to: "held" },
  unhold: { from: "held", to: "ready" },
  redrive: { from: "dead", to: "ready" },
  recall: { from: "ready", to: "dead" }, // a cancelled redrive takes back items that nobody has started
  discard: { from: "dead", to: "discarded" },
  restore: { from: "discarded", to: "dead" },
} as const satisfies Record<string, { from: ItemState; to: ItemState }>;

export type Move = keyof typeof MOVES;

/** Throws unless the item is in the state where the move starts. Returns the state where it ends. */
export function assertMove(move: Move, from: ItemState): ItemState {
  assert(MOVES[move].from === from, `illegal move: ${move} from ${from}`);
  return MOVES[move].to;
}

/** Power Automate's names of the same states; accepted on input. */
const STATE_ALIASES: ReadonlyMap<string, ItemState> = new Map([
  ["queued", "ready"],
  ["processing", "leased"],
  ["processed", "done"],
  ["onhold", "held"],
  ["failed", "dead"],
]);

/** Reads a state by its name or alias, in any case. */
export function parseItemState(text: string): ItemState | undefined {
  const word = text.toLowerCase();
  return ITEM_STATES.find((state) => state === word) ?? STATE_ALIASES.get(word);
}
