/** Where a step runs and what it may use: all that differs between setup, an agent, reduce and merge. */
import type { Launcher } from "../attempt/launch.ts";
import type { OutputMask } from "../attempt/output.ts";
import type { OutputWatch } from "../attempt/output-watch.ts";
import type { Failure } from "../item/failure.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import type { Json } from "../std/json.ts";
import type { Random } from "../std/random.ts";
import type { Step } from "./model.ts";
import type { Scope } from "./step-variables.ts";

export interface StepContext {
  readonly launcher: Launcher;
  /** Absolute: the worktree, or the project's folder. Nothing is written outside of it. */
  readonly root: string;
  /** Added to the runner's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What `${…}` can name: `item`, `item_id`, `index`, `map`, `setup`, `env`, captured names. Steps add to it. */
  readonly variables: Record<string, Json>;
  /** Replaces every secret; applied to all that is kept or shown. */
  readonly mask: (text: string) => string;
  readonly secretValues: readonly string[];
  /** Where the output of the attempt's steps is collected; made when there is any. */
  readonly logPath: string;
  /** Path that the files of running steps start with, in a folder that is there. */
  readonly scratch: string;
  readonly signal: AbortSignal;
  /** False when the attempt's lease may have expired: no process starts then. */
  readonly mayStart: () => boolean;
  readonly graceMs: number;
  readonly agentId: string;
  readonly attempt: number;
  /** Where copies of the files go that a step names as evidence. Default: none are made. */
  readonly evidenceFolder?: string | undefined;
  /** The commit that HEAD is at; absent where there is no git. */
  readonly head?: (() => Promise<string>) | undefined;
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
      readonly log?: string;
    }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly retryAfterMs?: number;
      readonly isAgent?: true;
      readonly stepIndex: number;
      readonly usage?: AgentUsage;
    }
  /** The runner stopped, or its machine failed it (`why`); nothing is spent. */
  | { readonly kind: "stopped"; readonly why?: string };

export interface AgentUsage {
  readonly model?: string;
  readonly costUsd?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

export interface Run {
  readonly context: StepContext;
  readonly startedAt: number;
  readonly outputs: OutputWatch;
  readonly maskChunk: OutputMask;
  /** Steps at the same time write to the log one after the other. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  fileCount: number;
  usage: AgentUsage | undefined;
  jsonLog: string | undefined;
  hasLog: boolean;
}

export interface At {
  readonly run: Run;
  readonly scope: Scope;
  /** Aborted when the runner stops, or when the time of a step around this one is over. */
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  /** What led here, outermost first, for the record. */
  readonly trail: readonly string[];
  /** The same in short, for titles and file names: `["step 2", "on_failure", "step 1"]`. */
  readonly path: readonly string[];
  /** The step's own, as `stepLabel` and `stepName` give them. */
  readonly label: string;
  readonly name: string;
  /** Runs a list of steps; here, so that a step can have steps. */
  readonly runList: (steps: readonly Step[], at: At) => Promise<StepEnd>;
}

export interface Deadline {
  readonly timeoutMs: number;
  /** What has to be done by then, e.g. `the attempt`. */
  readonly what: string;
  readonly signal: AbortSignal;
  readonly outer: Deadline | undefined;
}

export type StepEnd =
  | { readonly kind: "done"; readonly output?: string }
  | StepFailed
  /** By the runner, or by a fault of the machine that is not the step's. */
  | { readonly kind: "stopped"; readonly why?: string };

export interface StepFailed {
  readonly kind: "failed";
  readonly failure: Failure;
  readonly retryAfterMs?: number;
  readonly isAgent?: true;
  /** What it printed, when that is small enough to be a value. */
  readonly output?: string;
  /** True when it could not even begin, which trying again does not change. */
  readonly isHopeless?: boolean;
}

/** Nothing that other steps do helps against a limit or an outage; the runner lets the item wait. */
export function isTurnedAway({ failure }: StepFailed): boolean {
  return failure.errorClass === "throttled" || failure.errorClass === "outage";
}

export function inside(at: At, name: string, trailEntry: string = name): At {
  return { ...at, path: [...at.path, name], trail: [...at.trail, trailEntry] };
}

/** Does the work; everything in it is ended when the time is over. */
export async function withDeadline<T>(
  at: At,
  timeoutMs: number | undefined,
  what: string,
  work: (at: At) => Promise<T>,
): Promise<T> {
  if (timeoutMs === undefined) return work(at);
  const late = new AbortController();
  const either = new AbortController();
  const abort = () => either.abort();
  const cancel = systemClock.after(timeoutMs, () => {
    late.abort();
    either.abort();
  });
  if (at.signal.aborted) either.abort();
  at.signal.addEventListener("abort", abort, { once: true });
  const deadline = { timeoutMs, what, signal: late.signal, outer: at.deadline };
  try {
    return await work({ ...at, signal: either.signal, deadline });
  } finally {
    cancel();
    at.signal.removeEventListener("abort", abort);
  }
}

/** The limit that is over, the outermost when there are several; undefined when the runner itself stops. */
export function passedDeadline(at: At): Deadline | undefined {
  if (at.run.context.signal.aborted) return undefined;
  let passed: Deadline | undefined;
  for (let deadline = at.deadline; deadline; deadline = deadline.outer) {
    if (deadline.signal.aborted) passed = deadline;
  }
  return passed;
}
