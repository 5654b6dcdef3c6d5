/** The rules for the end of an attempt, used by every engine: outcomes, the state change of each verdict, and counters. */
import { assert } from "../std/assert.ts";
import type { Json } from "../std/json.ts";
import type { AgentUsage } from "./agent-usage.ts";
import type { EventType } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { Settlement, Verdict } from "./item.ts";
import type { WorktreeArtifacts } from "./letter.ts";
import type { Move } from "./state.ts";

export const MOVE_OF = {
  done: "finish",
  retry: "retry",
  park: "park",
  release: "release",
  skip: "skip",
  bury: "bury",
  stop: "bury",
} as const satisfies Record<Verdict["kind"], Move>;

/** Throws on a contradictory settlement before anything is written. */
export function assertSettlement({ lease, outcome, verdict, failure, death, result }: Settlement): void {
  const buries = MOVE_OF[verdict.kind] === "bury";
  const fails = outcome === "failed" || outcome === "lost";
  const isPlain = !buries && !fails && death === undefined && failure === undefined;
  if (isPlain && (result === undefined || outcome === "succeeded")) return; // skips the messages below in the most common case
  const item = `item ${lease.ref}`;
  assert(buries === (death !== undefined), `${item}: ${verdict.kind} and death do not fit together`);
  assert(fails === (failure !== undefined), `${item}: ${outcome} and failure do not fit together`);
  assert(!buries || fails, `${item}: a letter needs a failure, and the attempt was ${outcome}`);
  assert(result === undefined || outcome === "succeeded", `${item}: only a success has a result`);
}

/** How one attempt ended. A failed handler is a value that `decide` reads, not an exception. */
export type Outcome =
  | {
      readonly kind: "succeeded";
      readonly stdout?: StandardOutput;
      readonly log?: string;
      /** The result, such as captured values. */
      readonly result?: Json;
      readonly mergedCommit?: string;
      /** What the agents of the attempt used. */
      readonly usage?: AgentUsage;
      /** Counters of the queue to increment in addition to the store's own. */
      readonly counts?: readonly string[];
    }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      /** The delay that the service requested. */
      readonly retryAfterMs?: number;
      /** An agent step failed: by default, the item waits until usage limits and overload end. */
      readonly isAgent?: true;
      readonly log?: string;
      /** The worktree to keep with the letter. */
      readonly artifacts?: WorktreeArtifacts;
      readonly usage?: AgentUsage;
      readonly counts?: readonly string[];
    }
  /** The runner stopped the attempt or could not make it. The attempt does not count. */
  | {
      readonly kind: "released";
      readonly why: string;
      /** The command was leased ahead and recalled, which is not a failure. */
      readonly isRecalled?: true;
      readonly log?: string;
      readonly usage?: AgentUsage;
      readonly counts?: readonly string[];
    }
  /** The worker disappeared without reporting a result. */
  | { readonly kind: "lost"; readonly failure: Failure };

/** The output of a successful command: in memory if small, else in its log, or in a file if the log is incomplete. */
export interface StandardOutput {
  readonly bytes: number;
  readonly inline?: Uint8Array;
  /**
   * An open, unlinked file that contains the whole output. The code that prints the output must close the
   * file.
   */
  readonly fd?: number;
  /** Why part of the output is missing. */
  readonly lost?: string;
}

const OUTCOME_ALONE = {
  succeeded: ["attempts.succeeded"],
  failed: ["attempts.failed"],
  released: ["attempts.released"],
  lost: ["attempts.lost"],
} as const satisfies Record<Settlement["outcome"], readonly string[]>;

/** Returns the counters that one settlement increments; a name that occurs twice is incremented twice. */
export function countersOf(settlement: Settlement, wasLetter: boolean): readonly string[] {
  const { outcome, verdict, death, counts } = settlement;
  if (verdict.kind === "done" && !wasLetter && counts === undefined) return OUTCOME_ALONE[outcome];
  const names: string[] = [...OUTCOME_ALONE[outcome]];
  if (verdict.kind === "retry") names.push("retries");
  if (verdict.kind === "park") names.push("parks");
  if (death) names.push(`dead.${death.errorType}`);
  if (wasLetter && hasEnded(verdict.kind))
    names.push(verdict.kind === "done" ? "redrives.succeeded" : "redrives.failed");
  return counts === undefined ? names : [...names, ...counts];
}

function hasEnded(verdict: Settlement["verdict"]["kind"]): boolean {
  return verdict === "done" || verdict === "skip" || verdict === "bury" || verdict === "stop";
}

/** Events that have a counter with the same name. */
const COUNTED_EVENTS: ReadonlySet<EventType> = new Set(["store_write_failed"]);

export function isCounted(type: EventType): boolean {
  return COUNTED_EVENTS.has(type);
}
