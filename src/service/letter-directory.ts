/** The letter directory of a job: where it is, and how it is written from the store. */

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { appendLetters, rewriteLetters, updateRetentionPolicy } from "../dead-letter/all-letters.ts";
import type { FolderDocuments, WrittenFolder } from "../dead-letter/directory.ts";
import { inPieces, textOf } from "../dead-letter/import-export/export.ts";
import { Projection } from "../dead-letter/projection.ts";
import { letterStatsToJson, readLetterStats } from "../dead-letter/stats.ts";
import type { Engine } from "../engine.ts";
import { fileNameOf } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { letterToJson } from "../item/letter.ts";
import type { ItemState } from "../item/state.ts";
import { everyJob, gitTopOf } from "../queue/find-job.ts";
import { analyseSelected } from "../redrive/analyse-selected.ts";
import { selectLetters } from "../redrive/select.ts";
import { makeFolder, removeStaleDrafts, writeAtomically } from "../std/files.ts";
import type { JsonObject } from "../std/json.ts";
import { analysisToJson } from "../triage/analyse.ts";
import { repositoryNameOf } from "../workspace/names.ts";

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

/** A projection of the job's letters. Changes are appended to the stream of all letters, unless `tellsAll` is false. */
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
  const top = gitTopOf(spec.cwd);
  return top === null ? basename(spec.cwd) || "root" : repositoryNameOf(top);
}

/** `itemsMax`: how many letters may wait; null is no limit. Without it the metrics have no limit. */
export async function letterDocuments(
  engine: Engine,
  jobId: string,
  itemsMax: number | null | undefined,
): Promise<FolderDocuments> {
  const analysis = await analyseSelected(engine, { filter: { queue: jobId } });
  const stats = await readLetterStats(engine, jobId);
  return {
    patterns: analysisToJson(analysis),
    metrics: { job_id: jobId, ...letterStatsToJson(stats, itemsMax) },
  };
}

/** Rewrites the directory of one job. A job without letters gets no folder; an existing one is emptied. */
export async function mirrorJob(engine: Engine, job: Job, place: DirectoryPlace): Promise<WrittenFolder> {
  await refreshReceipts(engine, job, place.home);
  return rewrite(engine, job, { ...place, tellsAll: true });
}

/** Writes the directories of all jobs that have letters or a folder, and the stream of all letters. */
export async function mirrorAll(engine: Engine, place: DirectoryPlace): Promise<readonly WrittenFolder[]> {
  const written: WrittenFolder[] = [];
  await mirrorStream(engine, place);
  for await (const job of everyJob(engine)) {
    const isThere = openProjection(engine, job, place).isThere;
    await refreshReceipts(engine, job, place.home);
    const one = await rewrite(engine, job, { ...place, tellsAll: false });
    if (isThere || one.items > 0) written.push(one);
  }
  return written;
}

/** Updates a job's directory after a command. `changed` names items whose letters changed without an event, as by a note. */
export async function refreshDirectory(
  engine: Engine,
  job: Job,
  { changed = [], ...place }: DirectoryPlace & { readonly changed?: readonly string[] },
): Promise<void> {
  await openProjection(engine, job, place).finish(changed);
}

async function rewrite(
  engine: Engine,
  job: Job,
  place: DirectoryPlace & { readonly tellsAll: boolean },
): Promise<WrittenFolder> {
  const projection = openProjection(engine, job, place);
  await projection.rebuild();
  // Changes meanwhile are appended in any case.
  const { items } = await openProjection(engine, job, { ...place, tellsAll: true }).finish();
  return { jobId: job.id, folder: projection.folder, items };
}

async function mirrorStream(engine: Engine, place: DirectoryPlace): Promise<void> {
  const folder = globalFolder(place);
  const { total } = await engine.listLetters({ states: STATES, limit: 0 });
  if (total === 0 && !existsSync(folder)) return;
  await rewriteLetters(folder, allLetters(engine));
  await writePlacePolicy(engine, place);
}

const STATES: readonly ItemState[] = ["dead", "ready", "leased", "done", "discarded"];

/** Includes resolved letters, with their last state. */
async function* allLetters(engine: Engine): AsyncGenerator<JsonObject> {
  const selection = { filter: { states: STATES } };
  for await (const letter of selectLetters(engine, selection, { order: "oldest" }))
    yield letterToJson(letter);
}

export function receiptsFile(home: string, target: string): string {
  return join(home, "receipts", fileNameOf(target), "receipts.json");
}

/** Rewrites the file in the home. It is created with the first letter. */
export async function refreshReceipts(engine: Engine, { id, kind }: Job, home: string): Promise<void> {
  const path = receiptsFile(home, id);
  if (kind !== "target" || !(await isReceiptsFileNeeded(engine, id, path))) return;
  makeFolder(dirname(path));
  await writeReceipts(engine, id, path);
}

export async function isReceiptsFileNeeded(engine: Engine, queue: string, path: string): Promise<boolean> {
  return existsSync(path) || (await engine.listLetters({ queue, limit: 0 })).total > 0;
}

export async function writeReceipts(engine: Engine, queue: string, path: string): Promise<void> {
  const letters = selectLetters(engine, { filter: { queue } }, { order: "oldest" });
  await writeAtomically(path, inPieces(textOf(letters, "receipts")));
  await removeStaleDrafts(dirname(path));
}
