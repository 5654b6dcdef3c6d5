/** Locates the letter directory of a job, and writes it from the store. */

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

/** The location and limits of letter directories. */
export interface DirectoryOptions {
  /** Redrive's home folder. It contains the letter directories in `dlq`. */
  readonly home: string;
  /** A folder to use instead of `dlq` in the home folder: `{dlqDir}/{job_id}/`. */
  readonly dlqDir?: string;
  /**
   * The maximum number of waiting letters per job; null means no limit. If it is absent, metrics.json omits
   * the limit.
   */
  readonly itemsMax?: number | null;
  /** The retention of letters in days, for retention-policy.json; null means no limit. Default: no limit. */
  readonly retentionDays?: number | null;
}

/** Returns the parent of the job's folder: `dlqDir`, or `{home}/dlq/{repo_name}/{job_id}/mapreduce/dlq`. */
export function directoryRoot(job: Job, { home, dlqDir }: DirectoryOptions): string {
  if (dlqDir !== undefined) return dlqDir;
  return join(home, "dlq", fileNameOf(repositoryName(job)), fileNameOf(job.id), "mapreduce", "dlq");
}

/** Returns the folder of the files that cover the letters of all jobs. */
export function globalFolder({ home, dlqDir }: DirectoryOptions): string {
  return join(dlqDir ?? join(home, "dlq"), "global");
}

/** Opens the projection of a job's letters. It appends changes to the stream of all letters unless `tellsAll` is false. */
export function openProjection(
  engine: Engine,
  job: Job,
  { tellsAll = true, ...options }: DirectoryOptions & { tellsAll?: boolean },
): Projection {
  return new Projection({
    engine,
    jobId: job.id,
    root: directoryRoot(job, options),
    documents: () => letterDocuments(engine, job.id, options.itemsMax),
    ...(tellsAll && { onChange: (changes) => appendChanges(engine, options, changes) }),
  });
}

async function appendChanges(engine: Engine, options: DirectoryOptions, changes: readonly JsonObject[]) {
  await appendLetters(globalFolder(options), changes);
  if (changes.length > 0) await writeDirectoryPolicy(engine, options);
}

/** Writes `retention-policy.json` if it is missing or differs. */
export async function writeDirectoryPolicy(engine: Engine, options: DirectoryOptions): Promise<void> {
  const { itemsMax = null, retentionDays = null } = options;
  const policy = { maxItems: itemsMax, retentionDays };
  await updateRetentionPolicy(globalFolder(options), policy, () => engine.now());
}

/** Returns the name of the git repository, else that of the job's folder. Imported letters have neither. */
function repositoryName({ spec }: Job): string {
  if (typeof spec.cwd !== "string") return "elsewhere";
  const top = gitTopOf(spec.cwd);
  return top === null ? basename(spec.cwd) || "root" : repositoryNameOf(top);
}

/** `itemsMax` is the maximum number of waiting letters; null means no limit. If undefined, the metrics omit the limit. */
export async function letterDocuments(engine: Engine, jobId: string, itemsMax: number | null | undefined) {
  const analysis = await analyseSelected(engine, { filter: { queue: jobId } });
  const stats = letterStatsToJson(await readLetterStats(engine, jobId), itemsMax);
  return {
    patterns: analysisToJson(analysis),
    metrics: { job_id: jobId, ...stats },
  } satisfies FolderDocuments;
}

/** Rewrites the directory of one job. Creates no directory for a job without letters, but empties an existing one. */
export async function mirrorJob(engine: Engine, job: Job, options: DirectoryOptions): Promise<WrittenFolder> {
  await refreshReceipts(engine, job, options.home);
  return rewrite(engine, job, { ...options, tellsAll: true });
}

/** Rewrites the directories of all jobs with letters or an existing directory, and the stream of all letters. */
export async function mirrorAll(
  engine: Engine,
  options: DirectoryOptions,
): Promise<readonly WrittenFolder[]> {
  const written: WrittenFolder[] = [];
  await mirrorStream(engine, options);
  for await (const job of everyJob(engine)) {
    const isThere = openProjection(engine, job, options).isThere;
    await refreshReceipts(engine, job, options.home);
    const one = await rewrite(engine, job, { ...options, tellsAll: false });
    if (isThere || one.items > 0) written.push(one);
  }
  return written;
}

/** Updates a job's directory after a command. `changed` lists items whose letters changed without an event. */
export async function refreshDirectory(
  engine: Engine,
  job: Job,
  { changed = [], ...options }: DirectoryOptions & { changed?: readonly string[] },
): Promise<void> {
  await openProjection(engine, job, options).finish(changed);
}

async function rewrite(engine: Engine, job: Job, options: DirectoryOptions & { tellsAll: boolean }) {
  const projection = openProjection(engine, job, options);
  await projection.rebuild();
  // Changes during the rewrite are always appended to the stream.
  const { items } = await openProjection(engine, job, { ...options, tellsAll: true }).finish();
  return { jobId: job.id, folder: projection.folder, items };
}

async function mirrorStream(engine: Engine, options: DirectoryOptions): Promise<void> {
  const folder = globalFolder(options);
  const { total } = await engine.listLetters({ states: STATES, limit: 0 });
  if (total === 0 && !existsSync(folder)) return;
  await rewriteLetters(folder, allLetters(engine));
  await writeDirectoryPolicy(engine, options);
}

const STATES: readonly ItemState[] = ["dead", "ready", "leased", "done", "discarded"];

async function* allLetters(engine: Engine): AsyncGenerator<JsonObject> {
  const selection = { filter: { states: STATES } };
  for await (const letter of selectLetters(engine, selection, { order: "oldest" }))
    yield letterToJson(letter);
}

export function receiptsFile(home: string, target: string): string {
  return join(home, "receipts", fileNameOf(target), "receipts.json");
}

/** Rewrites the target's `receipts.json` in the home folder. The file is created with the first letter. */
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
