/** The work of a map: the user's command for each item. */
import { commandHandler, logsLostNotice } from "../attempt/command.ts";
import type { Job } from "../item/job.ts";
import { specOf } from "./map-spec.ts";
import type { Work, Workshop } from "./work.ts";

export async function openMapWork(
  job: Job,
  { launcher, logs, evidence, scratch, clock, stop, isOutputWanted = false, onNotice }: Workshop,
): Promise<Work> {
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
