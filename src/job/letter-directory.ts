/** Where the letter directory of a job lies, and the projection that keeps it. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { appendLetters, updateRetentionPolicy } from "../dead-letter/all-letters.ts";
import { Projection } from "../dead-letter/projection.ts";
import type { Engine } from "../engine.ts";
import { fileNameOf } from "../item/item-path.ts";
import type { Job } from "../item/job.ts";
import type { JsonObject } from "../kit/json.ts";
import { repositoryNameOf } from "../worktree/repository-name.ts";
import { letterDocuments } from "./letter-documents.ts";

/** Which folder the letter directories are in. */
export interface DirectoryPlace {
  /** The folder of Redrive's files; the directories are in `dlq` there. */
  readonly home: string;
  /** Another folder instead: `{dlqDir}/{job_id}/`. */
  readonly dlqDir?: string;
  /** How many letters may wait in a job; null is no limit. Default: no limit, and metrics.json does not mention one. */
  readonly itemsMax?: number | null;
  /** How many days a letter is kept, for retention-policy.json; null is no limit. Default: no limit. */
  readonly retentionDays?: number | null;
}

/** The folder in which the job's own folder lies: `{home}/dlq/{repo_name}/{job_id}/mapreduce/dlq`, or the one that was given. */
export function directoryRoot(job: Job, { home, dlqDir }: DirectoryPlace): string {
  if (dlqDir !== undefined) return dlqDir;
  return join(home, "dlq", fileNameOf(repositoryName(job)), fileNameOf(job.id), "mapreduce", "dlq");
}

/** The folder of what concerns the letters of all jobs. */
export function globalFolder({ home, dlqDir }: DirectoryPlace): string {
  return join(dlqDir ?? join(home, "dlq"), "global");
}

/** A projection of the job's letters, whose changes are told to the stream of all letters unless that is not wanted. */
export function openProjection(
  engine: Engine,
  job: Job,
  { tellsAll = true, ...place }: DirectoryPlace & { readonly tellsAll?: boolean },
): Projection {
  return new Projection({
    engine,
    jobId: job.id,
    root: directoryRoot(job, place),
    documents: () => letterDocuments(engine, job.id, place.itemsMax),
    ...(tellsAll && { onChange: (changes) => appendChanges(engine, place, changes) }),
  });
}

/** Adds to the stream of all letters, and keeps the file of the retention policy beside it. */
async function appendChanges(
  engine: Engine,
  place: DirectoryPlace,
  changes: readonly JsonObject[],
): Promise<void> {
  await appendLetters(globalFolder(place), changes);
  if (changes.length > 0) await writePlacePolicy(engine, place);
}

/** Writes `retention-policy.json` when it is missing or differs. */
export async function writePlacePolicy(engine: Engine, place: DirectoryPlace): Promise<void> {
  const { itemsMax = null, retentionDays = null } = place;
  const policy = { maxItems: itemsMax, retentionDays };
  await updateRetentionPolicy(globalFolder(place), policy, () => engine.now());
}

/** The name of the git repository, else of the job's folder; imported letters have neither. */
function repositoryName({ spec }: Job): string {
  if (typeof spec.cwd !== "string") return "elsewhere";
  const top = topOf(spec.cwd);
  return top === null ? basename(spec.cwd) || "root" : repositoryNameOf(top);
}

function topOf(folder: string): string | null {
  if (existsSync(join(folder, ".git"))) return folder;
  return dirname(folder) === folder ? null : topOf(dirname(folder));
}
