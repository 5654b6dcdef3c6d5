/** `redrive resume`: goes on with a job. */
import { resumeJob } from "../../job/resume.ts";
import type { Context } from "../context.ts";
import { countOption } from "../option.ts";
import { runForPerson, type WatchOptions } from "../run-for-person.ts";

interface ResumeFlags extends WatchOptions {
  readonly dlq: boolean;
  readonly jobs?: string;
  readonly acceptChanges?: boolean;
}

export async function resume(context: Context, job: string | undefined, flags: ResumeFlags): Promise<number> {
  const slots = countOption("--jobs", flags.jobs, 1);
  return runForPerson(context, { ...flags, requiresMerge: true }, (deps, watch) =>
    resumeJob(deps, {
      ...watch,
      withLetters: flags.dlq,
      cwd: context.terminal.cwd,
      ...(flags.acceptChanges && { acceptChanges: true }),
      ...(job !== undefined && { job }),
      ...(slots !== undefined && { slots }),
    }),
  );
}
