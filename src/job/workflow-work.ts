/** The work of a workflow's map phase: an agent for each item. */
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Work, Workshop } from "./work.ts";

export async function openWorkflowWork(job: Job, _workshop: Workshop): Promise<Work> {
  throw new WorkError("usage", `${job.id} is a workflow.`);
}
