/** The handler of a map: runs the user's command for each item. */
import { commandHandler, logsLostNotice } from "../attempt/command.ts";
import type { Job } from "../item/job.ts";
import type { JobHandler, JobRuntime } from "./job-runtime.ts";
import { specOf } from "./map-spec.ts";

export async function openMapHandler(
  job: Job,
  { launcher, logs, evidence, scratch, clock, stop, isOutputWanted = false, onNotice }: JobRuntime,
): Promise<JobHandler> {
  const spec = specOf(job);
  const command = commandHandler({
    launcher,
    command: spec.command,
    allowOptions: spec.allowOptions,
    cwd: spec.cwd,
    jobId: job.id,
    graceMs: spec.graceMs,
    ...(spec.timeoutMs !== undefined && { timeoutMs: spec.timeoutMs }),
    scratch: (slot) => `${scratch}/${slot}`,
    logPath: logs.log,
    ...(spec.keepEvidence && { evidenceFolder: evidence }),
    ...(spec.failureCommand !== undefined && { failureCommand: spec.failureCommand }),
    stop,
    now: clock.now,
    isOutputWanted,
    onLogsLost: (count) => onNotice?.(logsLostNotice(count)),
  });
  return {
    handler: command.handle,
    policy: spec.policy,
    slots: spec.jobs,
    ...(command.askHandler && { askHandler: command.askHandler }),
    close: () => command.close(),
  };
}
