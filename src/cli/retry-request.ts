/** What a retry was asked for: the job, its letters, and the workflow that they are to be run with. */
import type { Engine, JobChange } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { requireWork } from "../job/work.ts";
import type { Selection } from "../redrive/select.ts";
import { selectionFor } from "../redrive/selection-for.ts";
import { refuseOtherStates } from "./bulk.ts";
import { resolveBulk, type SelectionFlags } from "./selection.ts";

export interface RetryWords {
  /** A job, or an item. */
  readonly word: string | undefined;
  readonly items: readonly string[];
  readonly flags: SelectionFlags & { readonly workflow?: string };
  /** Where the user is. */
  readonly cwd: string;
}

export interface RetryRequest {
  readonly job: Job;
  readonly selection: Selection;
  /** Items that were named and are not there. */
  readonly unknown: readonly string[];
  /** What `--workflow` makes of the job. */
  readonly change?: JobChange;
}

/** Null when there are no letters at all; a job or an item that was named and is not there is an error. */
export async function findRequest(
  engine: Engine,
  { word, items, flags, cwd }: RetryWords,
): Promise<RetryRequest | null> {
  const isNamed = [word, flags.job, flags.queue, ...items].some((name) => name !== undefined);
  if (!isNamed && (await engine.listGroups({})).length === 0) return null;
  const found = await resolveBulk(engine, { job: word, items, flags, skipsUnknown: true });
  const { job, unknown } = found;
  const request = { job, unknown, selection: selectionFor("redrive", found.selection) };
  await refuseOtherStates(engine, "redrive", request);
  if (flags.workflow !== undefined) {
    const { readNewWorkflow } = await newWorkflow();
    return { ...request, change: await readNewWorkflow(job, { file: flags.workflow, cwd }) };
  }
  const change = job.kind === "imported" ? await foundWorkflow(engine, job) : null;
  if (change !== null) return { ...request, change };
  requireWork(job);
  return request;
}

async function foundWorkflow(engine: Engine, job: Job): Promise<JobChange | null> {
  const { findWorkflowOfName } = await newWorkflow();
  return findWorkflowOfName(engine, job);
}

/** The job as it is to be run: with its new workflow, when it gets one. */
export async function jobToRun(engine: Engine, { job, change }: RetryRequest): Promise<Job> {
  if (change === undefined) return job;
  const { giveWorkflow } = await newWorkflow();
  return giveWorkflow(engine, job, change);
}

/** Loads all that workflows are made of; most letters are run as the job says. */
const newWorkflow = () => import("../job/new-workflow.ts");
