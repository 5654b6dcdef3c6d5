import { expect, test } from "vitest";
import { assertMove, ITEM_STATES, MOVES, type Move, parseItemState } from "../../src/item/state.ts";
import { AssertionError } from "../../src/std/assert.ts";

const moves = Object.keys(MOVES) as Move[];

test("every state is reached from ready by legal moves", () => {
  const reached = new Set<string>(["ready"]);
  for (let before = 0; before !== reached.size; ) {
    before = reached.size;
    for (const { from, to } of Object.values(MOVES)) if (reached.has(from)) reached.add(to);
  }
  expect([...reached].sort()).toEqual([...ITEM_STATES].sort());
});

test("a legal move ends in the state of the table; a move from any other state crashes", () => {
  for (const move of moves) {
    for (const state of ITEM_STATES) {
      if (MOVES[move].from === state) expect(assertMove(move, state)).toBe(MOVES[move].to);
      else expect(() => assertMove(move, state)).toThrow(AssertionError);
    }
  }
});

test("done and skipped are final", () => {
  expect(moves.filter((move) => ["done", "skipped"].includes(MOVES[move].from))).toEqual([]);
});

test("states are read by name or by Power Automate's word for them, in any case", () => {
  for (const state of ITEM_STATES) expect(parseItemState(state.toUpperCase())).toBe(state);
  expect(["Queued", "Processing", "Processed", "OnHold", "Failed"].map(parseItemState)).toEqual([
    "ready",
    "leased",
    "done",
    "held",
    "dead",
  ]);
  expect(["", "lost", "constructor", "toString"].map(parseItemState)).toEqual(Array(4).fill(undefined));
});
