/**
 * The states of an item and every legal move between them. A move that is not listed here is a bug of ours,
 * not a case to handle: `assertMove` crashes.
 */
import { assert } from "../kit/assert.ts";

/** Every state of an item. */
export const ITEM_STATES = ["ready", "leased", "held", "done", "dead", "skipped", "discarded"] as const;
/** One of `ITEM_STATES`. */
export type ItemState = (typeof ITEM_STATES)[number];

/** The states that a letter can be in: it waits, is on its way, or is closed. */
export const LETTER_STATES = ["dead", "ready", "leased", "held", "discarded", "done"] as const;

/** Every legal move of an item. */
export const MOVES = {
  lease: { from: "ready", to: "leased" },
  finish: { from: "leased", to: "done" },
  retry: { from: "leased", to: "ready" }, // after backoff; the attempt is spent
  park: { from: "leased", to: "ready" }, // throttled or outage; the attempt is not spent
  release: { from: "leased", to: "ready" }, // the runner's own fault or shutdown; the attempt is not spent
  skip: { from: "leased", to: "skipped" },
  bury: { from: "leased", to: "dead" },
  hold: { from: "ready", to: "held" },
  unhold: { from: "held", to: "ready" },
  redrive: { from: "dead", to: "ready" },
  recall: { from: "ready", to: "dead" }, // a redrive that was cancelled takes back what nobody has begun
  discard: { from: "dead", to: "discarded" },
  restore: { from: "discarded", to: "dead" },
} as const satisfies Record<string, { from: ItemState; to: ItemState }>;

export type Move = keyof typeof MOVES;

/** Crashes unless the item is where the move starts. Returns where it ends. */
export function assertMove(move: Move, from: ItemState): ItemState {
  assert(MOVES[move].from === from, `illegal move: ${move} from ${from}`);
  return MOVES[move].to;
}

/** The words of Power Automate for the same states; accepted on input. */
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
