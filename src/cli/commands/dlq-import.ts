/** `redrive dlq import`: letters from a file or folder into the store. */
import { resolve } from "node:path";
import type { ImportFormat } from "../../dead-letter/exchange/format.ts";
import { importLetters } from "../../dead-letter/exchange/import.ts";
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { requireJob } from "../../job/find-job.ts";
import { systemClock } from "../../kit/clock.ts";
import { interruptible } from "../change-letters.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { importText, importToJson } from "../import-text.ts";
import { requirePath } from "../option.ts";
import { refreshDirectories } from "../refresh-directories.ts";

export interface ImportFlags {
  readonly job?: string;
  readonly format?: ImportFormat;
  readonly dryRun?: boolean;
}

export async function dlqImport(context: Context, path: string, flags: ImportFlags): Promise<number> {
  const { job, format, dryRun: isDry = false } = flags;
  const from = path === "-" ? path : resolve(context.terminal.cwd, requirePath("The path", path));
  const { result: imported, interrupted } = await interruptible(
    context,
    async (engine, signal) => {
      const report = await importLetters(engine, from, {
        isDry,
        signal,
        stdin: context.terminal.stdin,
        onProgress: progressOf(context),
        ...(job !== undefined && { job: await jobIdOf(engine, job) }),
        ...(format !== undefined && { format }),
      });
      if (!isDry) {
        const jobIds = report.jobs.map(({ jobId }) => jobId);
        await refreshDirectories(context, engine, { jobIds, count: report.imported + report.extended });
      }
      return report;
    },
    { creates: !isDry },
  );
  context.answer(importToJson(imported, isDry), () => importText(imported, isDry));
  if (interrupted !== null) {
    context.note("Interrupted: the same command again takes in the rest.");
    return interrupted;
  }
  if (imported.refusedCount === 0) return EXIT.done;
  const read = imported.imported + imported.extended + imported.existing;
  return read === 0 ? EXIT.usage : EXIT.lettersLeft;
}

/** A job is called here as everywhere. One that is not there is made, with that name. */
async function jobIdOf(engine: Engine, name: string): Promise<string> {
  try {
    return (await requireJob(engine, name)).id;
  } catch (error) {
    if (error instanceof WorkError && error.code === "job_not_found") return name;
    throw error;
  }
}

const PROGRESS_EVERY_MS = 2000;

/** A line every few seconds, for a person who waits. */
function progressOf(context: Context): (letters: number) => void {
  if (!context.terminal.stderr.isTTY) return () => undefined;
  let due = systemClock.now() + PROGRESS_EVERY_MS;
  return (letters) => {
    if (systemClock.now() < due) return;
    due = systemClock.now() + PROGRESS_EVERY_MS;
    context.note(`${letters} letters read …`);
  };
}
