/** Creates background services and rules for letters from redrive.yml: limits, retention, mirrors, automatic fixes. */
import type { Config, LetterSettings } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import type { RunDeps } from "../run/run-job.ts";
import type { StartService } from "../service/service.ts";
import { compact } from "../std/json.ts";
import type { Context } from "./context.ts";

/** Reads the settings, so that errors in them are reported before anything starts. */
export async function maintenanceOf(
  context: Context,
): Promise<
  Required<Pick<RunDeps, "services" | "fixes" | "poisonAfter" | "groupRules" | "classRules" | "prices">>
> {
  const config = await trustedConfig(context);
  const { dlq, groups, classify } = config;
  const { letterRetention } = await import("../service/letter-retention.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const keeper = letterRetention({ limits: limitsOf(dlq), author: context.author });
  return {
    services: [keeper, ...(await otherServices(context, config))],
    fixes: config.fixes.filter(({ auto }) => auto),
    poisonAfter: dlq.poisonAfter ?? Number.POSITIVE_INFINITY,
    groupRules: groups,
    classRules: classify,
    prices: config.prices,
  };
}

/** Creates the services of queue workers. Queues never end, so their maintainer applies limits and fixes while they run. */
export async function queueMaintenanceOf(context: Context): Promise<Required<Pick<RunDeps, "services">>> {
  const config = await trustedConfig(context);
  const { queueMaintainer } = await import("../service/queue-maintainer.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const fixes = config.fixes.filter(({ auto }) => auto);
  const maintainer = queueMaintainer({ limits: limitsOf(config.dlq), fixes, author: context.author });
  const { scheduler } = await import("../service/scheduler.ts");
  return { services: [maintainer, scheduler(), ...(await otherServices(context, config))] };
}

/** Checks that automatic fixes may run commands. Loads the trust module only if there are any, which is rare. */
async function trustedConfig(context: Context): Promise<Config> {
  const config = await context.config();
  const { fixes } = config;
  if (fixes.some(({ auto, change }) => auto && change.kind === "command")) {
    const { ownCommands, requireTrust } = await import("./commands/trust.ts");
    await requireTrust(context, ownCommands({ fixes, channels: [] }));
  }
  return config;
}

/** Creates the services for the letter directory, the `receipts.json` of targets, and the retention of jobs and logs. */
async function otherServices({ author }: Context, { dlq, jobs }: Config): Promise<readonly StartService[]> {
  const services: StartService[] = [];
  if (dlq.mirror) {
    const { homeReceiptsMirror, letterMirror } = await import("../service/letter-mirror.ts");
    services.push(letterMirror(directoryOf(dlq)), homeReceiptsMirror());
  }
  if (jobs.retentionDays !== null || jobs.logRetentionDays !== null) {
    const { jobLimitsOf, jobRetention } = await import("../service/job-retention.ts");
    services.push(jobRetention({ limits: jobLimitsOf(jobs), author, ...compact({ dlqDir: dlq.dlqDir }) }));
  }
  return services;
}

export function directoryOf({
  dlqDir,
  maxItems: itemsMax,
  retentionDays,
}: Pick<LetterSettings, "dlqDir" | "maxItems" | "retentionDays">) {
  return { itemsMax, retentionDays, ...compact({ dlqDir }) };
}

/** `itemIds` are items whose letters changed without an event. `limits` default to the settings. */
interface ChangedLetters {
  readonly jobIds: readonly string[];
  readonly itemIds?: readonly string[];
  readonly count: number;
  readonly limits?: Pick<LetterSettings, "maxItems" | "retentionDays">;
}

/** Up to this many letters are written while the user waits; a durable write takes one or two milliseconds. */
const COUNT_MAX = 1000;

/** Updates existing letter directories. They are only copies of the store, so an error does not fail the command. */
export async function refreshDirectories(
  context: Context,
  engine: Engine,
  { jobIds, itemIds = [], count, limits }: ChangedLetters,
): Promise<void> {
  if (count === 0) return;
  try {
    const { dlq } = await context.config();
    if (!dlq.mirror) return;
    const { openProjection, refreshDirectory, refreshReceipts } = await import(
      "../service/letter-directory.ts"
    );
    const directory = { home: context.home, ...directoryOf({ ...dlq, ...limits }) };
    for (const id of jobIds) {
      const job = await engine.findJob(id);
      if (job !== null) await refreshReceipts(engine, job, context.home);
      if (job === null || !openProjection(engine, job, directory).isThere) continue;
      if (count > COUNT_MAX) {
        context.note(
          "The next run of the job updates the letter directory. To update it now: redrive dlq mirror",
        );
        return;
      }
      await refreshDirectory(engine, job, { ...directory, changed: itemIds });
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    context.note(
      `The letter directory was not written: ${reason.replace(/\.$/, "")}. The store has every letter. To write the directory: redrive dlq mirror`,
    );
  }
}
