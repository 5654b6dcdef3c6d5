/** The names of the documents that processes share. A queue's gate is one of them, and has a way of its own. */
import { assert } from "../kit/assert.ts";

const GATES = "gate/";

/** The document that says whether a queue may be worked: its breaker, and until when it is parked. */
export function gateName(queue: string): string {
  return `${GATES}${queue}`;
}

/** Gates change together with what is leased, never by themselves. */
export function assertFreeName(name: string): void {
  assert(!name.startsWith(GATES), `the gate ${name} is written by an exchange only`);
}
