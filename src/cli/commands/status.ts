/** `redrive status`: how one job stands, once or until it has ended. */
import type { Engine } from "../../engine.ts";
import { isStanding } from "../../item/job.ts";
import { requireJob } from "../../job/find-job.ts";
import { type JobSummary, summarise, summaryToJson } from "../../job/summary.ts";
import { refuseStanding } from "../../job/work.ts";
import { systemClock } from "../../kit/clock.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { listenForInterrupts } from "../interrupt.ts";
import { summaryText } from "../summary-text.ts";

const LOOK_MS = 500;

export async function status(context: Context, name: string, flags: { watch?: boolean }): Promise<number> {
  return context.withStore(async (engine) => {
    const interrupt = listenForInterrupts(() => undefined);
    const summary = await (flags.watch ? watch(context, engine, name, interrupt.signal) : look(engine, name));
    interrupt.dispose();
    const { paint, columns } = context;
    context.answer(summaryToJson(summary), () => `${summaryText(summary, { paint, columns })}\n`);
    return interrupt.exitCode ?? EXIT.done;
  });
}

async function look(engine: Engine, name: string): Promise<JobSummary> {
  const job = await requireJob(engine, name);
  if (isStanding(job)) refuseStanding(job);
  return summarise(engine, job);
}

/** One line on stderr, rewritten on a terminal and written when something changed elsewhere. */
async function watch(context: Context, engine: Engine, name: string, stop: AbortSignal): Promise<JobSummary> {
  const { stderr } = context.terminal;
  let shown = "";
  for (;;) {
    const summary = await look(engine, name);
    const { status, succeeded, dead, remaining, total } = summary;
    const line = `${summary.jobId} ${status}: ${succeeded} of ${total} done, ${dead} dead, ${remaining} left`;
    if (line !== shown) stderr.write(stderr.isTTY ? `\r\x1b[2K${line}` : `${line}\n`);
    shown = line;
    if (status !== "running" || stop.aborted) {
      if (stderr.isTTY) stderr.write("\r\x1b[2K");
      return summary;
    }
    await systemClock.sleep(LOOK_MS, stop);
  }
}
