/**
 * Where a step runs and what it may use: the one thing that differs between setup, an agent, reduce and merge. The
 * executor (`run-steps.ts`) takes steps and a world and knows nothing of phases, jobs or stores.
 */
import type { Launcher } from "../attempt/launch.ts";
import type { Failure } from "../item/failure.ts";
import type { Clock } from "../kit/clock.ts";
import type { Json } from "../kit/json.ts";
import type { Random } from "../kit/random.ts";

export interface World {
  readonly launcher: Launcher;
  /** Absolute: the worktree, or the project's folder. Nothing is written outside of it. */
  readonly root: string;
  /** Added to the runner's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What `${…}` can name: `item`, `item_id`, `index`, `map`, `setup`, `env`, captured names. Steps add to it. */
  readonly variables: Record<string, Json>;
  /** Replaces every secret; applied to all that is kept or shown. */
  readonly mask: (text: string) => string;
  /** The values to replace, for streams of bytes. */
  readonly secretValues: readonly string[];
  /** Where the output of the attempt's steps is collected; made when there is any. */
  readonly logPath: string;
  /** Path that the files of running steps start with, in a folder that is there. */
  readonly scratch: string;
  /** Aborted when the runner stops. */
  readonly signal: AbortSignal;
  /** False when the attempt's lease may have expired: no process starts then. */
  readonly mayStart: () => boolean;
  /** Between the signals TERM and KILL. */
  readonly graceMs: number;
  readonly agentId: string;
  readonly attempt: number;
  /** Where copies of the files go that a step names as evidence. Default: none are made. */
  readonly evidenceFolder?: string;
  /** The commit that HEAD is at; absent where there is no git. */
  readonly head?: () => Promise<string>;
  readonly clock: Clock;
  readonly random: Random;
  /** Told which step begins, for the screen: `step 2 of 5: shell: cargo test`. */
  readonly onStep?: (index: number, total: number, label: string) => void;
}

export type StepsEnd =
  | {
      readonly kind: "done";
      readonly usage?: AgentUsage;
      readonly jsonLog?: string;
      /** The path of the log; absent when no step had any output. */
      readonly log?: string;
    }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly retryAfterMs?: number;
      /** An agent failed, not a command. */
      readonly isAgent?: true;
      readonly stepIndex: number;
      readonly usage?: AgentUsage;
    }
  /** The runner stopped, or its machine failed it (`why`); nothing is spent. */
  | { readonly kind: "stopped"; readonly why?: string };

/** What an agent's own log says it used. */
export interface AgentUsage {
  readonly model?: string;
  readonly costUsd?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}
