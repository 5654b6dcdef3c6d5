/** The context of a step: everything that differs between setup, agents, reduce and merge. */

import type { AgentReport, SessionTotals } from "../agent/agent-record.ts";
import type { AgentSession } from "../agent/continue-session.ts";
import type { Prices } from "../agent/prices.ts";
import type { Launcher } from "../attempt/launch.ts";
import type { OutputMask } from "../attempt/output.ts";
import type { OutputWatch } from "../attempt/output-watch.ts";
import type { AgentUsage } from "../item/agent-usage.ts";
import type { Failure } from "../item/failure.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import type { Json } from "../std/json.ts";
import type { Random } from "../std/random.ts";
import type { GitVariables, ReadChanges } from "./git-variables.ts";
import type { Step } from "./model.ts";
import type { Scope } from "./step-variables.ts";

export interface StepContext {
  readonly launcher: Launcher;
  /** Absolute path of the worktree or the project folder. Nothing is written outside it. */
  readonly root: string;
  /** Added to the environment of the runner. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables for `${…}`: `item`, `item_id`, `index`, `map`, `setup`, `env` and captures. Steps add their captures. */
  readonly variables: Record<string, Json>;
  /** Masks secrets. Applied to everything that is stored or shown. */
  readonly mask: (text: string) => string;
  readonly secretValues: readonly string[];
  /** The log of all steps of the attempt. Created with the first output. */
  readonly logPath: string;
  /** Path prefix for the files of running steps. Its folder exists. */
  readonly scratch: string;
  readonly signal: AbortSignal;
  /** False when the attempt's lease may have expired; then no process is started. */
  readonly mayStart: () => boolean;
  readonly graceMs: number;
  readonly agentId: string;
  readonly attempt: number;
  /** The folder for copies of evidence files. Default: no copies. */
  readonly evidenceFolder?: string | undefined;
  /** Returns the commit of HEAD. Undefined outside a git repository. */
  readonly head?: (() => Promise<string>) | undefined;
  /** Reads the changes in the worktree. Undefined outside a git repository. */
  readonly changes?: ReadChanges | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** What earlier attempts of the item left, for steps that continue the session of their agent. */
  readonly earlier?: EarlierAttempts | undefined;
  /** Settings of agents. Default: no prices, and 30 s to exit after the final message. */
  readonly agents?: AgentSettings;
  /** Called when a step begins, for progress output: `step 2 of 5: shell: cargo test`. */
  readonly onStep?: (index: number, total: number, label: string) => void;
}

export interface EarlierAttempts {
  /** The sessions by the path of their step, e.g. `step 2`. */
  readonly sessions: ReadonlyMap<string, ContinuedSession>;
  /** True if the sessions cannot be continued, because the folder with their work is gone. */
  readonly areLost?: true;
  /** What to tell an agent besides the failure, e.g. that the job's branch has moved. */
  readonly advice?: string;
}

/** A session with the failure to send to its agent. */
export interface ContinuedSession extends AgentSession {
  readonly failure?: Failure;
  /** True if the agent was ended before it was done, e.g. with its runner. */
  readonly isInterrupted?: true;
}

/** Facts about an agent that are known when it starts. */
export interface AgentStart {
  /** The step without item values, and the name of the program. */
  readonly step: string;
  readonly agent: string;
  readonly stdoutPath: string;
  readonly format?: "claude" | undefined;
  readonly model?: string | undefined;
  readonly before?: SessionTotals | undefined;
}

/** Receives what a running agent reports. */
export interface RunningAgent {
  /** Returns why the agent must be stopped, e.g. because its budget is exhausted. */
  report(report: AgentReport): ReportedFailure | undefined;
  /** Resolves when the final report is stored. */
  ended(report: AgentReport): Promise<void>;
  /** Always called at the end. An agent that never started leaves no record. */
  discard(): void;
}

export interface AgentSettings {
  /** Records the usage of agents. Default: it is only part of the result. */
  readonly begin?: ((start: AgentStart) => RunningAgent) | undefined;
  readonly prices?: Prices | undefined;
  /** How long an agent may keep running after its final message. */
  readonly outliveMs?: number | undefined;
}

export type StepsEnd =
  | { readonly kind: "done"; readonly usage?: AgentUsage; readonly jsonLog?: string; readonly log?: string }
  | (Pick<StepFailed, "kind" | "failure" | "retryAfterMs" | "isAgent"> & {
      readonly stepIndex: number;
      readonly usage?: AgentUsage;
    })
  /** The runner stopped, or the machine failed (`why`). The attempt is not counted. */
  | { readonly kind: "stopped"; readonly why?: string; readonly usage?: AgentUsage };

export interface Run {
  readonly context: StepContext;
  readonly startedAt: number;
  readonly outputs: OutputWatch;
  readonly maskChunk: OutputMask;
  /** Serializes writes to the log by parallel steps. */
  /** Undefined if no step uses them. */
  readonly git: GitVariables | undefined;
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  fileCount: number;
  /** The agent sessions that a retry continues, by the path of their step. */
  readonly sessions: Map<string, ContinuedSession>;
  /** Facts about the whole run for the record of a later failure, e.g. that a session could not be continued. */
  readonly notes: string[];
  usage: AgentUsage | undefined;
  jsonLog: string | undefined;
  hasLog: boolean;
}

export interface At {
  readonly run: Run;
  readonly scope: Scope;
  /** Aborted when the runner stops, or when the timeout of an enclosing step is over. */
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  /** The enclosing steps, outermost first, for the failure record. */
  readonly trail: readonly string[];
  /** Short form of `trail` for titles and file names: `["step 2", "on_failure", "step 1"]`. */
  readonly path: readonly string[];
  /** The results of `stepLabel` and `stepName` for this step. */
  readonly label: string;
  readonly name: string;
  /** Runs nested steps. Passed here to avoid a circular import. */
  readonly runList: (steps: readonly Step[], at: At) => Promise<StepEnd>;
}

interface Deadline {
  readonly timeoutMs: number;
  /** What the deadline applies to, e.g. `the attempt`. */
  readonly what: string;
  readonly signal: AbortSignal;
  readonly outer: Deadline | undefined;
}

export type StepEnd =
  | { readonly kind: "done"; readonly output?: string }
  | StepFailed
  /** Stopped by the runner, or by a machine failure that the step did not cause. */
  | { readonly kind: "stopped"; readonly why?: string };

export interface StepFailed {
  readonly kind: "failed";
  readonly failure: Failure;
  readonly retryAfterMs?: number;
  readonly isAgent?: true;
  /** The standard output, if it is small enough for a variable. */
  readonly output?: string;
  /** True when the step could not start and a retry would not help. */
  readonly isHopeless?: boolean;
}

/** Rate limits and outages skip `on_failure`, because its steps cannot fix them. The runner delays the item instead. */
export function isTurnedAway({ failure }: StepFailed): boolean {
  return failure.errorClass === "throttled" || failure.errorClass === "outage";
}

export function inside(at: At, name: string, trailEntry: string = name): At {
  return { ...at, path: [...at.path, name], trail: [...at.trail, trailEntry] };
}

/** Runs the work with a deadline, and aborts its signal when the deadline passes. */
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

/** Returns the outermost deadline that has passed. Undefined when the runner itself stops. */
export function passedDeadline(at: At): Deadline | undefined {
  if (at.run.context.signal.aborted) return undefined;
  let passed: Deadline | undefined;
  for (let deadline = at.deadline; deadline; deadline = deadline.outer) {
    if (deadline.signal.aborted) passed = deadline;
  }
  return passed;
}
