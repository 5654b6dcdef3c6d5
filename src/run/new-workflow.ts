/** Replaces the workflow of a job, usually by a corrected version, before its letters are retried. */
import { resolve } from "node:path";
import type { Engine, JobChange } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { isStanding, type Job } from "../item/job.ts";
import { slugOf } from "../queue/find-job.ts";
import { hasOtherRunner } from "../queue/job-summary.ts";
import { readText } from "../std/files.ts";
import type { JsonObject } from "../std/json.ts";
import {
  digestOf,
  plain,
  type WorkflowSpec,
  workflowProgressOf,
  workflowSpecOf,
} from "../workflow/workflow-spec.ts";
import { checkStart } from "./workflow-runtime.ts";

/** Returns the job change with the new workflow. Reports all errors before anything is changed. */
export async function readNewWorkflow(
  job: Job,
  { file, cwd }: { readonly file: string; readonly cwd: string },
): Promise<JobChange> {
  if (isStanding(job)) {
    throw new RedriveError(
      "usage",
      `${job.id} is a ${job.kind}: it is processed by workers, not by a workflow.`,
      {
        hint: "Omit --workflow: the letters are sent back to the workers.",
      },
    );
  }
  if (job.kind === "map") {
    throw new RedriveError("usage", `${job.id} is a map: it runs a command, not a workflow.`, {
      hint: `Start the map again with --name ${job.name} --accept-changes and the corrected command.`,
    });
  }
  const spec = await specWith(job, resolve(cwd, file), cwd);
  await checkStart(spec);
  if (job.kind === "workflow") return { spec: plain(spec) };
  return afterItsPhases(job, plain(spec));
}

const LOOK_AT_MAX = 200;

/** For imported letters: returns the workflow of the latest job with the same name in this store, or null. */
export async function findWorkflowOfName(engine: Engine, job: Job): Promise<JobChange | null> {
  const names = [job.id, job.id.replace(/-[a-z0-9]{8}$/, "")].map((name) => slugOf(name));
  const jobs = await engine.listJobs({ limit: LOOK_AT_MAX, kinds: ["workflow"] });
  const found = jobs.find(({ id }) => names.includes(id.replace(/-[a-z0-9]{8}$/, "")));
  if (found === undefined) return null;
  await checkStart(workflowSpecOf(found));
  return afterItsPhases(job, found.spec);
}

/** Marks all phases as ended: setup need not run, and there is no input to read. */
function afterItsPhases(job: Job, spec: JsonObject): JobChange {
  const progress = plain({ ...workflowProgressOf(job), phase: "ended" });
  return { kind: "workflow", spec, progress, intakeComplete: true };
}

export async function giveWorkflow(engine: Engine, job: Job, change: JobChange): Promise<Job> {
  if (await hasOtherRunner(engine, job.id)) {
    throw new RedriveError(
      "job_running",
      `A process is running the job ${job.id} with its previous workflow.`,
      {
        hint: `Follow it with \`redrive status ${job.id} --watch\`.`,
      },
    );
  }
  return engine.changeJob(job.id, change);
}

async function specWith(job: Job, path: string, cwd: string): Promise<WorkflowSpec> {
  const { requireWorkflow } = await import("../workflow/read-workflow.ts");
  const before = job.kind === "workflow" ? workflowSpecOf(job) : null;
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    throw new RedriveError("usage", `The workflow ${path} cannot be read.`, { cause: error });
  }
  const variables = before?.variables ?? {};
  return {
    cwd: before?.cwd ?? cwd,
    variables,
    mergeMode: before?.mergeMode ?? "auto",
    ...(before?.keepEvidence && { keepEvidence: true }),
    ...(before?.profile !== undefined && { profile: before.profile }),
    workflow: requireWorkflow(text, path, {
      variables: Object.keys(variables),
      profile: before?.profile,
      environment: (name) => process.env[name],
    }),
    file: path,
    digest: digestOf(text),
  };
}
