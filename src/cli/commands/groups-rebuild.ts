/** `redrive groups rebuild`: groups all letters anew, with what holds now. */
import { requireJob } from "../../job/find-job.ts";
import { type Rebuilt, rebuildGroups } from "../../redrive/rebuild-groups.ts";
import { ALGORITHM } from "../../triage/signature.ts";
import { askFirst } from "../ask.ts";
import type { Context } from "../context.ts";
import { movingNotes } from "../correcting.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText } from "../operation-text.ts";

interface RebuildFlags {
  readonly job?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function groupsRebuild(context: Context, flags: RebuildFlags): Promise<number> {
  const { groups: rules } = await context.config();
  const dryRun = flags.dryRun ?? false;
  const rebuilt = await context.withStore(async (engine) => {
    const queue = flags.job === undefined ? {} : { queue: (await requireJob(engine, flags.job)).id };
    const options = { ...queue, rules, onProgress: movingNotes(context) };
    if (!dryRun && !flags.yes) await askFirst(context, "Group all letters anew?");
    return rebuildGroups(engine, { ...options, dryRun });
  });
  const { letters, changed, groupsBefore, groupsAfter } = rebuilt;
  context.answer(
    {
      dry_run: dryRun,
      letters,
      changed,
      groups_before: groupsBefore,
      groups_after: groupsAfter,
      algorithm: ALGORITHM,
    },
    () => rebuiltText(rebuilt, dryRun),
  );
  return EXIT.done;
}

function rebuiltText({ letters, changed, groupsBefore, groupsAfter }: Rebuilt, dryRun: boolean): string {
  const groups = `${groupsBefore} ${groupsBefore === 1 ? "group" : "groups"} before, ${groupsAfter} after`;
  const moves = dryRun ? "would change their group" : "changed their group";
  const end = dryRun ? " Nothing was done." : "";
  return `${changed} of ${lettersText(letters)} ${moves}; ${groups} (${ALGORITHM}).${end}\n`;
}
