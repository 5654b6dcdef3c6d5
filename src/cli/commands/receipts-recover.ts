/** `redrive receipts recover`: sends the letters of a target again, once it can be reached. */
import { type Recovery, requireReachable, surveyRecovery } from "../../job/recover.ts";
import { previewRedrive, previewToJson } from "../../redrive/preview.ts";
import { askFirst } from "../ask.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText, previewText } from "../operation-text.ts";
import { mirrorPath, recoverForPerson } from "../recover-for-person.ts";
import { type PlanFlags, planFrom } from "../redrive-plan.ts";
import type { WatchOptions } from "../run-for-person.ts";

interface RecoverFlags extends WatchOptions, Pick<PlanFlags, "rate" | "canary"> {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly mirror?: string;
}

export async function receiptsRecover(context: Context, name: string, flags: RecoverFlags): Promise<number> {
  const plan = planFrom(flags);
  const mirror = flags.mirror === undefined ? {} : { mirror: mirrorPath(context, flags.mirror) };
  const recovery = await context.withStore(async (engine) => {
    const found = await surveyRecovery(engine, name);
    if (found.letters + found.begun.length > 0) await requireReachable(engine, found);
    return found;
  });
  if (flags.dryRun) return sayPreview(context, recovery);
  const { job, letters } = recovery;
  if (letters > 1 && !flags.yes) await askFirst(context, `Send ${lettersText(letters)} to ${job.id} again?`);
  const author = authorOf(context.terminal.env);
  return recoverForPerson(context, flags, { recovery, author, force: FORCE, plan, ...mirror });
}

/** Who recovers wants every receipt sent: also those that were refused for good, and those that came back too often. */
const FORCE = true;

async function sayPreview(context: Context, { job, selection }: Recovery): Promise<number> {
  const preview = await context.withStore((engine) => previewRedrive(engine, selection, { force: FORCE }));
  context.answer(previewToJson(preview, job.id), () => previewText(preview, job.id, context));
  return EXIT.done;
}
