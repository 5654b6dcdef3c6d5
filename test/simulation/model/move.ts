/** The only place where an item changes its state: asserts that the move is legal and updates the counters. */
import { assertMove, type Move } from "../../../src/item/state.ts";
import { enterLine, leaveLine } from "./line.ts";
import type { Row } from "./store.ts";

/** Moves the item. Without a due time it keeps the old one, and so its position. */
export function moveRow(row: Row, move: Move, dueAt: number = row.dueAt): void {
  const { counts, line } = row.queue;
  const to = assertMove(move, row.state);
  if (row.state === "ready") leaveLine(line, row);
  counts[row.state] -= 1;
  counts[to] += 1;
  row.state = to;
  row.dueAt = dueAt;
  if (to === "ready") enterLine(line, row);
}
