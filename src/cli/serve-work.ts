/** `redrive serve --work`: processes the queues listed under `work` in redrive.yml in the server process. */
import type { WorkSettings } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import { requireQueue } from "../queue/find-job.ts";
import { requireCommand } from "../run/require-programs.ts";
import { workQueue } from "../run/work-queue.ts";
import { systemClock } from "../std/clock.ts";
import type { Context } from "./context.ts";
import { userError } from "./exit-code.ts";
import { maintenanceOf, queueMaintenanceOf } from "./maintenance.ts";

export interface ServedWork {
  /** Rejects when a worker cannot continue. */
  readonly ended: Promise<unknown>;
  /** Lets running attempts finish within the grace period, then ends them. */
  drain(): Promise<void>;
}

const CONCURRENCY = 10;
const GRACE_MS = 10_000;
const DRAIN_MS = 30_000;

/** Checks every queue and command before the first worker starts. */
export async function startWork(context: Context, engine: Engine): Promise<ServedWork> {
  const { work } = await context.config();
  if (work.length === 0) {
    const hint = "Add a section such as: work: [{queue: orders, command: [./handle.sh]}]";
    throw userError("usage", "--work needs a section `work` in redrive.yml.", hint);
  }
  await requireTrusted(context, work);
  const { cwd } = context.terminal;
  const queues = [];
  for (const { queue, command } of work) {
    requireCommand({ command, cwd }, "redrive serve --work");
    queues.push(await requireQueue(engine, queue));
  }
  const [stop, drain] = [new AbortController(), new AbortController()];
  const deps = {
    ...(await maintenanceOf(context)),
    ...(await queueMaintenanceOf(context)),
    ...{ engine, home: context.home, author: context.author, clock: systemClock },
    ...{ stop: stop.signal, drain: drain.signal, storeWaitMs: Number.POSITIVE_INFINITY, fixes: [] },
  };
  const onNotice = (notice: string) => context.note(notice);
  const running = queues.map((queue, index) => {
    const { command = [], concurrency = CONCURRENCY } = work[index] ?? {};
    const plan = { command, cwd, graceMs: GRACE_MS, slots: concurrency, untilEmpty: false, onNotice };
    return workQueue(deps, queue, plan);
  });
  const ended = Promise.all(running);
  return {
    ended,
    drain: async () => {
      drain.abort();
      const cancel = systemClock.after(DRAIN_MS, () => stop.abort());
      await Promise.allSettled(running);
      cancel();
    },
  };
}

async function requireTrusted(context: Context, work: readonly WorkSettings[]): Promise<void> {
  const { requireTrust } = await import("./commands/trust.ts");
  await requireTrust(
    context,
    work.map(({ command }) => command.join(" ")),
  );
}
