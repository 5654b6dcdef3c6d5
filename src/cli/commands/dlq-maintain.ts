/** `redrive dlq maintain`: archives letters that are too old or too many; for all jobs also the retention of jobs and logs. */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { requireJob } from "../../job/find-job.ts";
import { evidenceFolder } from "../../job/home.ts";
import { type Maintained, maintain, maintainedToJson } from "../../job/maintain.ts";
import { jobLimitsOf, NOTHING_TIDIED, type Tidied, tidyJobs } from "../../job/tidy-jobs.ts";
import { type Swept, sweepEvidence } from "../../store/sweep-evidence.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText } from "../operation-text.ts";
import { clean } from "../paint.ts";
import { thousands } from "../progress-rate.ts";
import { refreshDirectories } from "../refresh-directories.ts";

interface MaintainFlags {
  readonly maxItems?: string;
  readonly retentionDays?: string;
  readonly dryRun?: boolean;
}

export async function dlqMaintain(
  context: Context,
  word: string | undefined,
  flags: MaintainFlags,
): Promise<number> {
  const { dlq, jobs } = await context.config();
  const { home, terminal } = context;
  const maxItems = limitOption("--max-items", flags.maxItems, 1);
  const retentionDays = limitOption("--retention-days", flags.retentionDays, 0);
  const limits = {
    maxItems: maxItems === undefined ? dlq.maxItems : maxItems,
    retentionDays: retentionDays === undefined ? dlq.retentionDays : retentionDays,
  };
  const isPreview = flags.dryRun ?? false;
  const {
    maintained: all,
    swept,
    tidied,
  } = await context.withStore(async (engine) => {
    const job = word === undefined ? undefined : await requireJob(engine, word);
    const maintained = await maintain(engine, {
      ...limits,
      author: authorOf(terminal.env),
      home,
      isPreview,
      onNotice: (notice) => context.note(notice),
      ...(dlq.dlqDir !== undefined && { dlqDir: dlq.dlqDir }),
      ...(job && { job }),
    });
    if (!isPreview) {
      await refreshDirectories(context, engine, {
        jobIds: maintained.map(({ jobId }) => jobId),
        count: maintained.reduce((sum, { evicted, purged }) => sum + evicted + purged, 0),
        limits,
      });
    }
    const tidied = job
      ? NOTHING_TIDIED
      : await tidyJobs(engine, {
          home,
          limits: jobLimitsOf(jobs),
          author: authorOf(terminal.env),
          isPreview,
          onNotice: (notice) => context.note(notice),
          ...(dlq.dlqDir !== undefined && { dlqDir: dlq.dlqDir }),
        });
    const swept = job ? NOTHING_SWEPT : await sweep(context, engine, isPreview);
    return { maintained, swept, tidied };
  });
  const evidence = swept.copies > 0 && { evidence_deleted: swept.copies, evidence_bytes: swept.bytes };
  const old = {
    ...(tidied.jobs.length > 0 && { jobs_deleted: tidied.jobs }),
    ...(tidied.logs > 0 && { logs_deleted: tidied.logs, log_bytes: tidied.logBytes }),
  };
  const document = { ...maintainedToJson(all), ...evidence, ...old, ...(isPreview && { dry_run: true }) };
  context.answer(
    document,
    () => maintainedText(all, isPreview, swept) + sweptText(swept, isPreview) + tidiedText(tidied, isPreview),
  );
  return EXIT.done;
}

/** Whose evidence a copy is does not follow from one job: the same content may be named by others. */
const NOTHING_SWEPT: Swept = { copies: 0, bytes: 0 };

/** The letters are within their limits whether or not a folder of somebody else can be looked at. */
async function sweep(context: Context, engine: Engine, isPreview: boolean): Promise<Swept> {
  try {
    return await sweepEvidence(engine, { folder: evidenceFolder(context.home, engine.url), isPreview });
  } catch (error) {
    if (!(error instanceof Error) || Reflect.get(error, "syscall") === undefined) throw error;
    context.note(`The copies of evidence could not all be looked at: ${clean(error.message)}.`);
    return NOTHING_SWEPT;
  }
}

function sweptText({ copies, bytes }: Swept, isPreview: boolean): string {
  if (copies === 0) return "";
  const what = copies === 1 ? "copy of evidence" : "copies of evidence";
  const verb = isPreview ? "Would delete" : "Deleted";
  return `${verb} ${thousands(copies)} ${what} that nothing names any more, ${thousands(bytes)} bytes.\n`;
}

function tidiedText({ jobs, logs, logBytes }: Tidied, isPreview: boolean): string {
  const verb = isPreview ? "Would delete" : "Deleted";
  const old =
    jobs.length === 0
      ? ""
      : `${verb} ${jobs.length === 1 ? "1 job" : `${jobs.length} jobs`}: ${jobs.join(", ")}.\n`;
  if (logs === 0) return old;
  return `${old}${verb} ${logs === 1 ? "1 log" : `${thousands(logs)} logs`}, ${thousands(logBytes)} bytes.\n`;
}

/** A number, or `none` for no limit; undefined when the option was not given. */
function limitOption(name: string, text: string | undefined, min: number): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === "none") return null;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new WorkError("usage", `${name}: "${text}" is neither a whole number of at least ${min} nor none.`);
}

function maintainedText(all: readonly Maintained[], isPreview: boolean, { copies }: Swept): string {
  const busy = all.filter(({ evicted, purged }) => evicted + purged > 0);
  if (busy.length === 0)
    return `Every letter is within the limits${isPreview || copies > 0 ? "" : "; nothing was done"}.\n`;
  return busy.map((one) => jobText(one, isPreview)).join("");
}

function jobText({ jobId, evicted, purged, waiting, archives }: Maintained, isPreview: boolean): string {
  const parts: string[] = [];
  if (purged > 0) parts.push(`${lettersText(purged)} too old`);
  if (evicted > 0) parts.push(`${lettersText(evicted)} too many`);
  const verb = isPreview ? "would archive" : "archived";
  const left = isPreview ? "" : `; ${lettersText(waiting)} left`;
  return `${jobId}: ${verb} ${parts.join(" and ")}${left}.\n${archives.map((path) => `  ${path}\n`).join("")}`;
}
