/** The settings and the progress of a workflow job, stored with the job, so that any process can resume it. */
import { createHash } from "node:crypto";
import type { Budget, Limits } from "../agent/budget.ts";
import type { Job } from "../item/job.ts";
import type { Json, JsonObject } from "../std/json.ts";
import type { KeepWorktrees, Workflow } from "./model.ts";

export const MERGE_MODES = ["auto", "ask", "never"] as const;
export interface WorkflowSpec {
  readonly workflow: Workflow;
  readonly file: string;
  /** SHA-256 of the file's text, to detect a changed workflow. */
  readonly digest: string;
  readonly cwd: string;
  /** Set with `--var`. */
  readonly variables: Readonly<Record<string, string>>;
  /** The profile that was selected. */
  readonly profile?: string;
  /** Whether the job's branch is merged into the branch from which the run started. */
  readonly mergeMode: (typeof MERGE_MODES)[number];
  /**
   * The name of a branch that is created for the job and receives its work, instead of the branch from which
   * the run started.
   */
  readonly newBranch?: string;
  /** The budget of the whole job from the command line. Default: the workflow's budget. */
  readonly budget?: Limits;
  /** Whether evidence files are copied into the home folder. Default: only their digests are recorded. */
  readonly keepEvidence?: boolean;
}

export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export const PHASES = ["setup", "map", "reduce", "merge", "ended"] as const;
export type Phase = (typeof PHASES)[number];

/** Phases with a single log. In the map phase, each attempt has its own; all runs of `verify` share one. */
export const PHASES_WITH_LOG: readonly string[] = ["setup", "verify", "reduce", "merge"];

export interface WorkflowProgress {
  readonly phase: Phase;
  readonly next: number;
  /** Captures of setup and reduce so far, without secrets. */
  readonly captured: Readonly<Record<string, Json>>;
  /** Captures of setup, available as `${setup.x}`. */
  readonly setup: Readonly<Record<string, Json>>;
  /** How many items had succeeded when reduce began. Absent before reduce. */
  readonly succeededAtReduce?: number;
  /** How many items had succeeded in the last complete run of reduce and merge. Absent before. */
  readonly succeededAtEnd?: number;
  /** The commit of the job's branch on which `verify` passed before the first item ran. Absent before. */
  readonly verifiedBase?: string;
}

export function workflowSpecOf(job: Job): WorkflowSpec {
  return job.spec as unknown as WorkflowSpec;
}

/** The budget of the job. A budget from the command line replaces that of the workflow. */
export function budgetOf({ workflow, budget }: WorkflowSpec): Budget | undefined {
  if (budget === undefined) return workflow.budget;
  const { attempt } = workflow.budget ?? {};
  return { ...budget, ...(attempt && { attempt }) };
}

export function keepWorktreesOf({ workflow }: WorkflowSpec): KeepWorktrees {
  return workflow.map.keepWorktrees ?? "failed";
}

/** Returns the phases after map that have steps. */
export function laterPhases(job: Job): readonly Phase[] {
  if (job.kind !== "workflow") return [];
  const { workflow } = workflowSpecOf(job);
  return (["reduce", "merge"] as const).filter((phase) => workflow[phase].length > 0);
}

export function workflowProgressOf(job: Job): WorkflowProgress {
  return { ...BEGINNING, ...(job.progress as unknown as Partial<WorkflowProgress>) };
}

const BEGINNING: WorkflowProgress = { phase: "setup", next: 0, captured: {}, setup: {} };

export function plain(value: WorkflowSpec | WorkflowProgress): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
