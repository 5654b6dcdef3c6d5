/** What every engine does with a settlement in the same way: which move it makes, and what would contradict itself. */
import { assert } from "../kit/assert.ts";
import type { Settlement, Verdict } from "./item.ts";
import type { Move } from "./state.ts";

/** Which move carries out which verdict. */
export const MOVE_OF = {
  done: "finish",
  retry: "retry",
  park: "park",
  release: "release",
  skip: "skip",
  bury: "bury",
  stop: "bury",
} as const satisfies Record<Verdict["kind"], Move>;

/** Crashes on a settlement that contradicts itself, before anything is written. */
export function assertSettlement({ lease, outcome, verdict, failure, grave, result }: Settlement): void {
  const buries = MOVE_OF[verdict.kind] === "bury";
  const fails = outcome === "failed" || outcome === "lost";
  const isPlain = !buries && !fails && grave === undefined && failure === undefined;
  if (isPlain && (result === undefined || outcome === "succeeded")) return; // most are, and need no words for what is wrong
  const item = `item ${lease.ref}`;
  assert(buries === (grave !== undefined), `${item}: ${verdict.kind} and grave do not fit together`);
  assert(fails === (failure !== undefined), `${item}: ${outcome} and failure do not fit together`);
  assert(!buries || fails, `${item}: a letter needs a failure, and the attempt was ${outcome}`);
  assert(result === undefined || outcome === "succeeded", `${item}: only a success has a result`);
}
