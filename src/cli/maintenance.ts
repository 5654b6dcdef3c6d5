/** Background services and rules for letters, from redrive.yml: limits, retention, mirrors, automatic fixes. */
import type { Config, LetterSettings } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import type { RunDeps } from "../run/run-job.ts";
import type { StartService } from "../service/service.ts";
import type { Context } from "./context.ts";

/** Settings that are wrong are an error before anything is begun. */
export async function maintenanceOf(
  context: Context,
): Promise<Required<Pick<RunDeps, "services" | "fixes" | "poisonAfter" | "groupRules" | "classRules">>> {
  const config = await context.config();
  const { dlq, fixes, groups, classify } = config;
  await requireTrustInFixes(context, config);
  const { letterRetention } = await import("../service/letter-retention.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const keeper = letterRetention({ limits: limitsOf(dlq), author: context.author });
  return {
    services: [keeper, ...(dlq.mirror ? await mirrors(dlq) : []), ...(await retention(context, config))],
    fixes: fixes.filter(({ auto }) => auto),
    poisonAfter: dlq.poisonAfter ?? Number.POSITIVE_INFINITY,
    groupRules: groups,
    classRules: classify,
  };
}

/** Most people have no automatic fix that runs a command. */
async function requireTrustInFixes(context: Context, { fixes }: Config): Promise<void> {
  if (!fixes.some(({ auto, change }) => auto && change.kind === "command")) return;
  const { ownCommands, requireTrust } = await import("./trust.ts");
  await requireTrust(context, ownCommands({ fixes, channels: [] }));
}

/** Most people set no limits for jobs and logs. */
async function retention(context: Context, { jobs, dlq }: Config): Promise<readonly StartService[]> {
  if (jobs.retentionDays === null && jobs.logRetentionDays === null) return [];
  const { jobRetention } = await import("../service/job-retention.ts");
  const { jobLimitsOf } = await import("../service/job-retention.ts");
  const dlqDir = dlq.dlqDir === undefined ? {} : { dlqDir: dlq.dlqDir };
  return [jobRetention({ limits: jobLimitsOf(jobs), author: context.author, ...dlqDir })];
}

/** The letter directory, and `receipts.json` of a target. */
async function mirrors(settings: LetterSettings): Promise<readonly StartService[]> {
  const { dlqDir, maxItems: itemsMax, retentionDays } = settings;
  const { letterMirror } = await import("../service/letter-mirror.ts");
  const { homeReceiptsMirror } = await import("../service/letter-mirror.ts");
  const place = { itemsMax, retentionDays, ...(dlqDir !== undefined && { dlqDir }) };
  return [letterMirror(place), homeReceiptsMirror()];
}

/** The same for the workers of a queue, which has no end at which its letters could be looked after. */
export async function queueMaintenanceOf(context: Context): Promise<Required<Pick<RunDeps, "services">>> {
  const config = await context.config();
  const { dlq, fixes } = config;
  await requireTrustInFixes(context, config);
  const { queueMaintainer } = await import("../service/queue-maintainer.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const tender = queueMaintainer({
    limits: limitsOf(dlq),
    fixes: fixes.filter(({ auto }) => auto),
    author: context.author,
  });
  const others = await retention(context, config);
  return { services: [tender, ...(dlq.mirror ? await mirrors(dlq) : []), ...others] };
}

export interface ChangedLetters {
  readonly jobIds: readonly string[];
  /** Items whose letters have changed without an event that says so. Default: none. */
  readonly itemIds?: readonly string[];
  /** How many letters have changed. */
  readonly count: number;
  /** The limits by which the command kept the letters. Default: those of the settings. */
  readonly limits?: Pick<LetterSettings, "maxItems" | "retentionDays">;
}

/** A file is written safely in a millisecond or two: a person waits for so many, and not for more. */
const COUNT_MAX = 1000;

/** Where the jobs have a letter directory. The store is the truth: what goes wrong here is said, and no failure. */
export async function refreshDirectories(
  context: Context,
  engine: Engine,
  { jobIds, itemIds = [], count, limits }: ChangedLetters,
): Promise<void> {
  if (count === 0) return;
  try {
    const { dlq } = await context.config();
    if (!dlq.mirror) return;
    const { openProjection } = await import("../service/letter-directory.ts");
    const { refreshDirectory } = await import("../service/letter-directory.ts");
    const { refreshReceipts } = await import("../service/letter-directory.ts");
    const { dlqDir, maxItems: itemsMax, retentionDays } = { ...dlq, ...limits };
    const place = { home: context.home, itemsMax, retentionDays, ...(dlqDir !== undefined && { dlqDir }) };
    for (const id of jobIds) {
      const job = await engine.findJob(id);
      if (job !== null) await refreshReceipts(engine, job, context.home);
      if (job === null || !openProjection(engine, job, place).isThere) continue;
      if (count > COUNT_MAX) {
        context.note(
          "The letter directory is updated by the next run of the job. To update it now: redrive dlq mirror",
        );
        return;
      }
      await refreshDirectory(engine, job, { ...place, changed: itemIds });
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    context.note(
      `The letter directory was not written: ${reason.replace(/\.$/, "")}. The store has every letter. To write the directory: redrive dlq mirror`,
    );
  }
}
