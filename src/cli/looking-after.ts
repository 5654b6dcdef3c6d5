/** What the settings say about the letters of a run: who goes along and looks after them, and what is done by itself. */
import type { Config, LetterSettings } from "../config/config.ts";
import type { OpenCompanion } from "../job/companion.ts";
import type { RunDeps } from "../job/run-job.ts";
import { authorOf } from "./author.ts";
import type { Context } from "./context.ts";

/** Settings that are wrong are an error before anything is begun. */
export async function lookingAfter(
  context: Context,
): Promise<Required<Pick<RunDeps, "companions" | "fixes" | "toxicAfter" | "groupRules" | "classRules">>> {
  const config = await context.config();
  const { dlq, fixes, groups, classify } = config;
  await requireTrustInFixes(context, config);
  const { keeping } = await import("../job/keeper.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const keeper = keeping({ limits: limitsOf(dlq), author: authorOf(context.terminal.env) });
  return {
    companions: [keeper, ...(dlq.mirror ? await mirrors(dlq) : []), ...(await retention(context, config))],
    fixes: fixes.filter(({ auto }) => auto),
    toxicAfter: dlq.toxicAfter ?? Number.POSITIVE_INFINITY,
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
async function retention(context: Context, { jobs, dlq }: Config): Promise<readonly OpenCompanion[]> {
  if (jobs.retentionDays === null && jobs.logRetentionDays === null) return [];
  const { retaining } = await import("../job/retention.ts");
  const { jobLimitsOf } = await import("../job/tidy-jobs.ts");
  const dlqDir = dlq.dlqDir === undefined ? {} : { dlqDir: dlq.dlqDir };
  return [retaining({ limits: jobLimitsOf(jobs), author: authorOf(context.terminal.env), ...dlqDir })];
}

/** The letter directory, and `receipts.json` of a target. */
async function mirrors(settings: LetterSettings): Promise<readonly OpenCompanion[]> {
  const { dlqDir, maxItems: itemsMax, retentionDays } = settings;
  const { mirroring } = await import("../job/mirroring.ts");
  const { keepingReceipts } = await import("../job/receipts-mirror.ts");
  const place = { itemsMax, retentionDays, ...(dlqDir !== undefined && { dlqDir }) };
  return [mirroring(place), keepingReceipts()];
}

/** The same for the workers of a queue, which has no end at which its letters could be looked after. */
export async function lookingAfterQueues(context: Context): Promise<Required<Pick<RunDeps, "companions">>> {
  const config = await context.config();
  const { dlq, fixes } = config;
  await requireTrustInFixes(context, config);
  const { tending } = await import("../job/tender.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const tender = tending({
    limits: limitsOf(dlq),
    fixes: fixes.filter(({ auto }) => auto),
    author: authorOf(context.terminal.env),
  });
  const others = await retention(context, config);
  return { companions: [tender, ...(dlq.mirror ? await mirrors(dlq) : []), ...others] };
}
