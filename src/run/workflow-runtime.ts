/** Shared state of all phases of a workflow run: environment, secrets, workspace, and the step contexts built from them. */
import type { AgentReport } from "../agent/agent-record.ts";
import { RedriveError } from "../errors.ts";
import type { Lease, LeasedItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Json } from "../std/json.ts";
import { type Masker, maskerOf, type Sealer, sealerOf } from "../workflow/secrets.ts";
import type { AgentStart, RunningAgent, StepContext } from "../workflow/step-context.ts";
import { environmentOf, outsideEnv } from "../workflow/variables.ts";
import {
  budgetOf,
  type WorkflowSpec,
  workflowProgressOf,
  workflowSpecOf,
} from "../workflow/workflow-spec.ts";
import { type Checkout, openPlainWorkspace, type Workspace } from "../workspace/workspace.ts";
import { AgentRuns } from "./agent-runs.ts";
import { continuesSessions } from "./earlier-attempts.ts";
import { DEFAULT_GRACE_MS } from "./map-spec.ts";
import { requirePrograms } from "./require-programs.ts";
import type { JobRuntime } from "./run-job.ts";

export interface WorkflowRuntime {
  readonly job: Job;
  readonly spec: WorkflowSpec;
  readonly workspace: Workspace;
  readonly jobRuntime: JobRuntime;
  readonly env: Readonly<Record<string, string>>;
  readonly masker: Masker;
  readonly secretValues: readonly string[];
  /** Replaces secrets in values that are stored, and restores them. */
  readonly sealer: Sealer;
  readonly agentRuns: AgentRuns;
}

export async function openWorkflowRuntime(job: Job, jobRuntime: JobRuntime): Promise<WorkflowRuntime> {
  const spec = workflowSpecOf(job);
  const env = environmentOf(spec);
  const secrets = secretsOf(spec, env);
  const secretValues = secrets.map(({ value }) => value);
  const masker = maskerOf(secretValues);
  const workspace =
    spec.workflow.map.isolation === "none"
      ? openPlainWorkspace(spec.cwd)
      : await (await import("../workspace/git-workspace.ts")).openGitWorkspace(job, spec, {
          ...jobRuntime,
          continuesSessions: continuesSessions(spec.workflow.map.steps),
        });
  const sealer = sealerOf(secrets, masker.mask);
  const { engine, clock } = jobRuntime;
  const agentRuns = new AgentRuns({ engine, queue: job.id, budget: budgetOf(spec), now: clock.now });
  await agentRuns.load();
  return { job, spec, workspace, jobRuntime, env, masker, secretValues, sealer, agentRuns };
}

export async function closeRuntime({ agentRuns, workspace }: WorkflowRuntime): Promise<void> {
  await agentRuns.close();
  await workspace.close();
}

/** Runs all checks before a job is created, so that a run that cannot start leaves no job behind. */
export async function checkStart(spec: WorkflowSpec): Promise<void> {
  maskerOf(secretsOf(spec, environmentOf(spec)).map(({ value }) => value));
  // If there is a setup phase, it may install programs, so the other phases are checked after it.
  requirePrograms(spec, spec.workflow.setup.length > 0 ? ["setup"] : ["map", "reduce", "merge"]);
  requireBranchUse(spec);
  if (spec.workflow.map.isolation === "none") return;
  const { openRepository, requireNewBranch } = await import("../workspace/repository.ts");
  const { git } = await openRepository(spec.cwd);
  if (spec.newBranch !== undefined) await requireNewBranch(git, spec.newBranch);
  const { remote } = spec.workflow.map;
  if (remote !== undefined) await (await import("../workspace/shared-branch.ts")).requireRemote(git, remote);
}

/** Rejects `--branch` where it would have no effect. */
function requireBranchUse({ newBranch, workflow, mergeMode }: WorkflowSpec): void {
  if (newBranch === undefined) return;
  const refuse = (why: string) => {
    throw new RedriveError("usage", `--branch has no effect ${why}.`, { hint: "Leave --branch out." });
  };
  if (workflow.map.isolation === "none") refuse("with isolation: none, because nothing is committed");
  if (workflow.itemMerge?.strategy === "branch-per-item")
    refuse("with the strategy branch-per-item, which leaves a branch for each item");
  if (mergeMode !== "auto") refuse(`with --merge ${mergeMode}: nothing is merged into your branch`);
}

function secretsOf({ workflow }: WorkflowSpec, env: Readonly<Record<string, string>>) {
  return workflow.secrets.map((name) => {
    const value = env[name] ?? process.env[name];
    if (value !== undefined) return { name, value };
    throw new RedriveError("usage", `The secret ${name} has no value.`, {
      hint: `Set ${name} in the environment or in a file listed in env_files.`,
    });
  });
}

/** The fields that each caller must provide. */
type PlannedKeys = "variables" | "logPath" | "scratch" | "signal" | "agentId" | "attempt" | "onStep";

/** Phases have no lease that could expire, so by default a step may always start. */
export function stepContextOf(
  runtime: WorkflowRuntime,
  plan: Pick<StepContext, PlannedKeys> &
    Partial<Pick<StepContext, "mayStart" | "earlier">> & {
      readonly checkout: Pick<Checkout, "root" | "head" | "changes">;
      /** The lease of the item whose steps run. Absent in the other phases. */
      readonly lease?: Lease;
      /** Called for each report of a running agent. */
      readonly onAgent?: (report: AgentReport) => void;
      /** Environment variables for these steps only. */
      readonly ownEnv?: Readonly<Record<string, string>>;
    },
): StepContext {
  const { checkout, lease, onAgent, ownEnv, mayStart = () => true, ...rest } = plan;
  const { jobRuntime, workspace, env, masker, secretValues, spec } = runtime;
  return {
    ...rest,
    mayStart,
    secretValues,
    root: checkout.root,
    head: checkout.head,
    changes: checkout.changes,
    launcher: jobRuntime.launcher,
    env: { ...workspace.env, ...env, ...ownEnv },
    mask: masker.mask,
    graceMs: DEFAULT_GRACE_MS,
    evidenceFolder: spec.keepEvidence ? jobRuntime.evidence : undefined,
    agents: {
      prices: jobRuntime.prices,
      begin: beginning(runtime.agentRuns.forAttempt(lease).begin, onAgent),
    },
    clock: jobRuntime.clock,
    random: Math.random,
  };
}

function beginning(
  begin: (start: AgentStart) => RunningAgent,
  onAgent: ((report: AgentReport) => void) | undefined,
): (start: AgentStart) => RunningAgent {
  if (onAgent === undefined) return begin;
  return (start) => {
    const running = begin(start);
    const report = (next: AgentReport) => {
      onAgent(next);
      return running.report(next);
    };
    return { ...running, report };
  };
}

/** Variables that contain step results, which are not captures. */
const OF_STEPS: ReadonlySet<string> = new Set(["shell", "claude", "last", "step", "steps"]);

/** Returns the variables that steps captured. */
export function capturedSince(before: ReadonlySet<string>, variables: Readonly<Record<string, Json>>) {
  const captured = Object.entries(variables).filter(([name]) => !before.has(name) && !OF_STEPS.has(name));
  return Object.fromEntries(captured);
}

export function itemVariables(item: LeasedItem): Record<string, Json> {
  return { item: item.data, item_id: item.itemId, index: item.index };
}

/** Returns `${workflow.*}`. The duration counts from the start of the job, in seconds, to the start of the phase or the item. */
export function workflowVariable({ job, spec, jobRuntime }: WorkflowRuntime, iteration = 1): Json {
  const duration = Math.max(0, Math.round((jobRuntime.clock.now() - job.createdAt) / 1000));
  return { name: spec.workflow.name, id: job.id, iteration, duration };
}

export function jobVariables(runtime: WorkflowRuntime): Record<string, Json> {
  const { job, spec, env, sealer } = runtime;
  const { setup, captured } = workflowProgressOf(job);
  return {
    job_id: job.id,
    workflow: workflowVariable(runtime),
    env: { ...outsideEnv(), ...env },
    ...sealer.unseal(captured),
    ...spec.variables,
    setup: sealer.unseal(setup),
  };
}
