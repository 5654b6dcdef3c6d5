/** `redrive dlq mirror`: writes the letter directory anew from the store. */
import { resolve } from "node:path";
import { requireJob } from "../../job/find-job.ts";
import { mirrorAll, mirrorJob } from "../../job/mirror.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requirePath } from "../option.ts";

export async function dlqMirror(
  context: Context,
  jobName: string | undefined,
  flags: { dlqDir?: string },
): Promise<number> {
  const { dlq } = await context.config();
  const dlqDir =
    flags.dlqDir === undefined
      ? dlq.dlqDir
      : resolve(context.terminal.cwd, requirePath("--dlq-dir", flags.dlqDir));
  const { maxItems: itemsMax, retentionDays } = dlq;
  const place = { home: context.home, itemsMax, retentionDays, ...(dlqDir !== undefined && { dlqDir }) };
  const written = await context.withStore(async (engine) => {
    if (jobName === undefined) return mirrorAll(engine, place);
    return [await mirrorJob(engine, await requireJob(engine, jobName), place)];
  });
  const jobs = written.map(({ jobId, folder, items }) => ({ job_id: jobId, folder, items }));
  if (jobs.every(({ items }) => items === 0)) context.note("There are no letters.");
  context.answer({ jobs }, () =>
    jobs.map(({ folder, items }) => `${folder}  ${items} ${items === 1 ? "letter" : "letters"}\n`).join(""),
  );
  return EXIT.done;
}
