/** What all phases of one run of a workflow share: its environment, its secrets, its site, and the worlds made of them. */
import { WorkError } from "../errors.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Json } from "../kit/json.ts";
import { type Sealer, sealerOf } from "../workflow/sealed-values.ts";
import { type Masker, maskerOf } from "../workflow/secrets.ts";
import type { World } from "../workflow/world.ts";
import { DEFAULT_GRACE_MS } from "./map-spec.ts";
import { requirePrograms } from "./require-command.ts";
import { openPlainSite, type Site } from "./site.ts";
import type { Workshop } from "./work.ts";
import { environmentOf, outsideEnv } from "./workflow-environment.ts";
import { type WorkflowSpec, workflowProgressOf, workflowSpecOf } from "./workflow-spec.ts";

export interface WorkflowKit {
  readonly job: Job;
  readonly spec: WorkflowSpec;
  readonly site: Site;
  readonly workshop: Workshop;
  readonly env: Readonly<Record<string, string>>;
  readonly masker: Masker;
  readonly secretValues: readonly string[];
  /** For what is stored and needed again as it was. */
  readonly sealer: Sealer;
}

export async function openWorkflowKit(job: Job, workshop: Workshop): Promise<WorkflowKit> {
  const spec = workflowSpecOf(job);
  const env = environmentOf(spec);
  const secrets = secretsOf(spec, env);
  const secretValues = secrets.map(({ value }) => value);
  const masker = maskerOf(secretValues);
  const site = await openSite(job, spec, workshop);
  return { job, spec, site, workshop, env, masker, secretValues, sealer: sealerOf(secrets, masker.mask) };
}

/** Everything that can be wrong before a job is begun, so that none is left of a run that never was. */
export async function checkStart(spec: WorkflowSpec): Promise<void> {
  maskerOf(secretsOf(spec, environmentOf(spec)).map(({ value }) => value));
  // What setup installs is looked for when it has ended.
  requirePrograms(spec, spec.workflow.setup.length > 0 ? ["setup"] : ["map", "reduce", "merge"]);
  if (spec.workflow.map.isolation === "none") return;
  const { openRepository } = await import("../worktree/repository.ts");
  await openRepository(spec.cwd);
}

async function openSite(job: Job, spec: WorkflowSpec, workshop: Workshop): Promise<Site> {
  if (spec.workflow.map.isolation === "none") return openPlainSite(spec.cwd);
  const { openGitSite } = await import("./git-site.ts");
  return openGitSite(job, spec, workshop);
}

function secretsOf(
  { workflow }: WorkflowSpec,
  env: Readonly<Record<string, string>>,
): { readonly name: string; readonly value: string }[] {
  return workflow.secrets.map((name) => {
    const value = env[name] ?? process.env[name];
    if (value !== undefined) return { name, value };
    throw new WorkError("usage", `The secret ${name} has no value.`, {
      hint: `Set ${name} in the environment or in a file of env_files.`,
    });
  });
}

export interface WorldPlan {
  readonly root: string;
  readonly head?: () => Promise<string>;
  readonly variables: Record<string, Json>;
  readonly logPath: string;
  readonly scratch: string;
  readonly signal: AbortSignal;
  /** Default: always. A phase has no lease that could expire. */
  readonly mayStart?: World["mayStart"];
  readonly agentId: string;
  readonly attempt: number;
  readonly onStep?: World["onStep"];
}

/** The world of a phase or of one attempt. */
export function worldOf(kit: WorkflowKit, plan: WorldPlan): World {
  const { onStep, head, mayStart = () => true, ...rest } = plan;
  return {
    ...rest,
    mayStart,
    ...(head && { head }),
    ...(onStep && { onStep }),
    launcher: kit.workshop.launcher,
    env: { ...kit.site.env, ...kit.env },
    mask: kit.masker.mask,
    secretValues: kit.secretValues,
    graceMs: DEFAULT_GRACE_MS,
    ...(kit.spec.keepEvidence && { evidenceFolder: kit.workshop.evidence }),
    clock: kit.workshop.clock,
    random: Math.random,
  };
}

/** What the steps have captured; `shell` is only their last output. */
export function capturedSince(
  before: ReadonlySet<string>,
  variables: Readonly<Record<string, Json>>,
): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => !before.has(name) && name !== "shell"),
  );
}

/** What the steps of an item can name besides. */
export function itemVariables(item: LeasedItem): Record<string, Json> {
  return { item: item.data, item_id: item.itemId, index: item.index };
}

/** What every step of the job can name. */
export function jobVariables({ job, spec, env, sealer }: WorkflowKit): Record<string, Json> {
  const { setup, captured } = workflowProgressOf(job);
  return {
    job_id: job.id,
    env: { ...outsideEnv(), ...env },
    ...sealer.unseal(captured),
    ...spec.variables,
    setup: sealer.unseal(setup),
  };
}
