/** What the settings say about the letters of a run: who goes along and looks after them, and what is done by itself. */
import type { LetterSettings } from "../config/config.ts";
import type { RunDeps } from "../job/run-job.ts";
import { authorOf } from "./author.ts";
import type { Context } from "./context.ts";

/** Settings that are wrong are an error before anything is begun. */
export async function lookingAfter(
  context: Context,
): Promise<Required<Pick<RunDeps, "companions" | "fixes" | "toxicAfter" | "groupRules">>> {
  const { dlq, fixes, groups } = await context.config();
  const { keeping } = await import("../job/keeper.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const keeper = keeping({ limits: limitsOf(dlq), author: authorOf(context.terminal.env) });
  return {
    companions: dlq.mirror ? [keeper, await mirror(dlq)] : [keeper],
    fixes: fixes.filter(({ auto }) => auto),
    toxicAfter: dlq.toxicAfter ?? Number.POSITIVE_INFINITY,
    groupRules: groups,
  };
}

async function mirror({ dlqDir, maxItems: itemsMax, retentionDays }: LetterSettings) {
  const { mirroring } = await import("../job/mirroring.ts");
  return mirroring({ itemsMax, retentionDays, ...(dlqDir !== undefined && { dlqDir }) });
}

/** The same for the workers of a queue, which has no end at which its letters could be looked after. */
export async function lookingAfterQueues(context: Context): Promise<Required<Pick<RunDeps, "companions">>> {
  const { dlq, fixes } = await context.config();
  const { tending } = await import("../job/tender.ts");
  const { limitsOf } = await import("../redrive/limits.ts");
  const tender = tending({
    limits: limitsOf(dlq),
    fixes: fixes.filter(({ auto }) => auto),
    author: authorOf(context.terminal.env),
  });
  return { companions: dlq.mirror ? [tender, await mirror(dlq)] : [tender] };
}
