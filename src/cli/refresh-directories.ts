/** Letters that are also files: after a command has changed letters outside of a run, their files follow. */
import type { LetterSettings } from "../config/config.ts";
import type { Engine } from "../engine.ts";
import type { Context } from "./context.ts";

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
    const { openProjection } = await import("../job/letter-directory.ts");
    const { refreshDirectory } = await import("../job/mirror.ts");
    const { refreshReceipts } = await import("../job/receipts-mirror.ts");
    const { dlqDir, maxItems: itemsMax, retentionDays } = { ...dlq, ...limits };
    const place = { home: context.home, itemsMax, retentionDays, ...(dlqDir !== undefined && { dlqDir }) };
    for (const id of jobIds) {
      const job = await engine.findJob(id);
      if (job !== null) await refreshReceipts(engine, job, context.home);
      if (job === null || !openProjection(engine, job, place).isThere) continue;
      if (count > COUNT_MAX) {
        context.note(
          "The letter directory follows with the next run of the job, or with `redrive dlq mirror`.",
        );
        return;
      }
      await refreshDirectory(engine, job, { ...place, changed: itemIds });
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    context.note(
      `The letter directory was not written: ${reason.replace(/\.$/, "")}. Nothing is lost: the store has every letter, and \`redrive dlq mirror\` writes the directory anew.`,
    );
  }
}
