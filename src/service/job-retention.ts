/** Retention of jobs and logs: deletes old jobs and logs, except those that waiting letters need. */
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { segmentsOf } from "../attempt/log-segments.ts";
import { letterPages } from "../dead-letter/pages.ts";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { fileNameOf } from "../item/item.ts";
import { isStanding, type Job } from "../item/job.ts";
import { everyJob } from "../queue/find-job.ts";
import { codeOf } from "../std/thrown.ts";
import { jobLogs } from "../store/home.ts";
import { isDismissed } from "./delete-job.ts";
import { inRounds, type StartService } from "./service.ts";

/** Retention periods; null means no limit. */
export type JobLimits = { readonly retentionMs: number | null; readonly logRetentionMs: number | null };

const DAY_MS = 86_400_000;

type Days = Record<"retentionDays" | "logRetentionDays", number | null>;

export function jobLimitsOf({ retentionDays, logRetentionDays }: Days): JobLimits {
  const ms = (days: number | null) => (days === null ? null : days * DAY_MS);
  return { retentionMs: ms(retentionDays), logRetentionMs: ms(logRetentionDays) };
}

export interface TidyOptions {
  readonly home: string;
  readonly dlqDir?: string;
  readonly limits: JobLimits;
  readonly author: string;
  /** The id of a job to skip, because this process runs it. */
  readonly except?: string;
  readonly isPreview?: boolean;
  readonly onNotice?: (notice: string) => void;
}

export type Tidied = { readonly jobs: readonly string[]; readonly logs: number; readonly logBytes: number };

export const NOTHING_TIDIED: Tidied = { jobs: [], logs: 0, logBytes: 0 };

export async function tidyJobs(engine: Engine, options: TidyOptions): Promise<Tidied> {
  const { retentionMs, logRetentionMs } = options.limits;
  if (retentionMs === null && logRetentionMs === null) return NOTHING_TIDIED;
  const now = await engine.now();
  const deleted: string[] = [];
  let [logs, logBytes] = [0, 0];
  for await (const job of everyJob(engine)) {
    if (job.id === options.except) continue;
    const isOld = retentionMs !== null && hasEndedBefore(job, now - retentionMs);
    if (isOld && (await deleteOld(engine, job, options))) deleted.push(job.id);
    else if (logRetentionMs !== null) {
      const removed = await removeLogs(engine, job, { ...options, before: Date.now() - logRetentionMs });
      logs += removed.logs;
      logBytes += removed.bytes;
    }
  }
  return { jobs: deleted, logs, logBytes };
}

/** Stopped, failed and interrupted jobs are kept until a person dismisses them. */
function hasEndedBefore(job: Job, time: number): boolean {
  if (job.kind === "deleting") return true; // an earlier deletion was interrupted
  if (isStanding(job)) return false;
  const isDone = job.status === "completed" || isDismissed(job);
  return isDone && (job.endedAt ?? job.startedAt) < time;
}

/** Returns false if the job has waiting letters, unmerged commits or a running process. */
async function deleteOld(engine: Engine, job: Job, options: TidyOptions): Promise<boolean> {
  const { deleteJob, previewDeletion } = await import("./delete-job.ts");
  try {
    const { reasons } = await previewDeletion(engine, job, options);
    if (reasons.length > 0) return false;
    if (!options.isPreview) await deleteJob(engine, job, options);
    return true;
  } catch (error) {
    if (!(error instanceof RedriveError) || !REFUSALS.has(error.code)) throw error;
    if (error.code !== "job_running") options.onNotice?.(error.message);
    return false;
  }
}

/** Errors that mean that another process changed the job in the meantime. The next run tries again. */
const REFUSALS: ReadonlySet<string> = new Set(["job_running", "illegal_move", "job_not_found"]);

async function removeLogs(
  engine: Engine,
  job: Job,
  { home, before, isPreview = false }: TidyOptions & { before: number },
) {
  const { folder } = jobLogs(home, job.id);
  const items = await foldersIn(folder);
  let { logs, bytes } = await removeSegments(folder, { before, isPreview });
  if (items.length === 0) return { logs, bytes };
  const needed = await lettersOf(engine, job);
  for (const item of items) {
    if (needed.has(item)) continue;
    for (const name of await readdir(join(folder, item))) {
      const path = join(folder, item, name);
      const found = await stat(path);
      if (found.mtimeMs >= before) continue;
      if (!isPreview) await rm(path, { force: true });
      logs += 1;
      bytes += found.size;
    }
    const isEmpty = !isPreview && (await readdir(join(folder, item))).length === 0;
    if (isEmpty) await rmdir(join(folder, item));
  }
  return { logs, bytes };
}

/** Segments have only logs of successes, which no waiting letter needs. */
async function removeSegments(folder: string, { before, isPreview }: { before: number; isPreview: boolean }) {
  let [logs, bytes] = [0, 0];
  for (const segment of segmentsOf(folder)) {
    const found = await stat(segment.log);
    if (found.mtimeMs >= before) continue;
    for (const path of isPreview ? [] : [segment.index, segment.log]) await rm(path, { force: true });
    logs += segment.logs;
    bytes += found.size;
  }
  return { logs, bytes };
}

/** Returns the log folders of items. Excludes files and hidden folders, which belong to phases and running processes. */
async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    return [];
  });
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  return folders.map(({ name }) => name);
}

async function lettersOf(engine: Engine, { id }: Job): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const letters of letterPages(engine, { queue: id, limit: 1000, parts: [] }))
    for (const { itemId } of letters) names.add(fileNameOf(itemId));
  return names;
}

type JobRetentionOptions = Pick<TidyOptions, "limits" | "author" | "dlqDir">;

/** Returns a service that applies the retention of jobs and logs once, after a run. */
export function jobRetention(options: JobRetentionOptions): StartService {
  return inRounds(({ id: except }, { engine, home, onNotice }) => ({
    run: async () => {
      const tidied = await tidyJobs(engine, { ...options, home, onNotice, except });
      if (tidied.jobs.length > 0) onNotice(`Retention deleted ${tidied.jobs.join(", ")}.`);
      return undefined;
    },
    wakeMs: () => 0,
    errorText: (reason) => `Old jobs and logs could not be deleted: ${reason} The next run tries again.`,
  }));
}
