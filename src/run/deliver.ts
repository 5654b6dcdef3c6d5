/** Delivers the receipts of a target, or the letters of one redrive. Other processes may deliver at the same time. */
import { type Delivery, openDelivery } from "../delivery/delivery.ts";
import { AutoRecovery, outageNotice } from "../delivery/recovery.ts";
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { drainedBy, Worker } from "../queue/worker.ts";
import { type RunObserver, type RunResult, runnerSettings } from "../runner/run-options.ts";
import { systemClock, toRfc3339 } from "../std/clock.ts";
import { type JobHandler, observing, type RunDeps, recordingErrors, servicesOf } from "./run-job.ts";

export const DELIVERY_SLOTS = 10;

/** Time after which a function that ignores the stop signal is abandoned. */
const ABANDON_AFTER_MS = 5000;

interface DeliverOptions {
  readonly slots: number;
  /** The rate limit of this process only. */
  readonly rate?: Rate;
  readonly untilEmpty: boolean;
  /**
   * Whether letters that died in an outage are redriven once the target accepts receipts again. Default true.
   */
  readonly autoRecover?: boolean;
  readonly onNotice: (notice: string) => void;
}

/** Delivers receipts until it is stopped, or until none is waiting if `untilEmpty` is set. */
export async function deliverTarget(deps: RunDeps, target: Job, options: DeliverOptions): Promise<RunResult> {
  const { engine, clock = systemClock } = deps;
  return recordingErrors(engine, target.id, async () => {
    const delivery = await openDelivery(engine, target, { clock });
    try {
      return await deliver(deps, target, { ...options, delivery });
    } finally {
      await delivery.close();
    }
  });
}

async function deliver(
  deps: RunDeps,
  target: Job,
  options: DeliverOptions & { readonly delivery: Delivery },
): Promise<RunResult> {
  const { delivery, slots, rate, untilEmpty, autoRecover = true, onNotice } = options;
  const { engine, clock = systemClock } = deps;
  const services = servicesOf(deps, target, onNotice);
  const recovery = new AutoRecovery({ engine, target, delivery, clock, onNotice });
  const work = () => {
    const worker = new Worker(engine, target.id, {
      ...runnerSettings(deps),
      handler: delivery.handler,
      isTarget: true,
      concurrency: slots,
      untilEmpty,
      signal: deps.stop,
      abandonAfterMs: ABANDON_AFTER_MS,
      clock,
      observer: observing(reportingOutages(target.id, deps.observer, onNotice), services, recovery),
      ...(rate && { rate }),
    });
    return drainedBy(deps.drain, worker);
  };
  try {
    if (!autoRecover) return await work();
    if (untilEmpty) return await untilRecovered(recovery, work);
    recovery.start();
    return await work();
  } finally {
    await recovery.stop();
    await services.stop();
  }
}

/** Repeats until no receipt is waiting and no letter of an outage can be redriven. */
async function untilRecovered(recovery: AutoRecovery, work: () => Promise<RunResult>): Promise<RunResult> {
  await recovery.look();
  for (;;) {
    const result = await work();
    if (result.end !== "finished" || !recovery.isTaking || (await recovery.look()) === 0) return result;
  }
}

/** Redelivers the letters of a target. If it is paused, running deliveries finish, and the rest stays ready. */
export async function redeliver(
  deps: RunDeps,
  { job, onNotice = () => undefined }: { readonly job: Job; readonly onNotice?: (notice: string) => void },
  run: (deps: RunDeps, work: JobHandler) => Promise<void>,
): Promise<void> {
  const paused = new AbortController();
  const drain = deps.drain ? AbortSignal.any([deps.drain, paused.signal]) : paused.signal;
  const observer = reportingOutages(job.id, deps.observer, onNotice);
  const { engine, clock = systemClock } = deps;
  const delivery = await openDelivery(engine, job, { clock });
  const { handler, settings } = delivery;
  const { policy } = settings.now();
  const close = () => delivery.close();
  const work = { handler, policy, slots: DELIVERY_SLOTS, settings: settings.now, close };
  const heeding: RunObserver = {
    ...observer,
    paused: (isPaused) => {
      observer.paused?.(isPaused);
      if (isPaused) paused.abort();
    },
  };
  await run({ ...deps, drain, observer: heeding }, work);
  if (paused.signal.aborted) onNotice(await pausedText(deps.engine, job));
}

async function pausedText(engine: Engine, { id }: Job): Promise<string> {
  const pause = (await engine.findJob(id))?.pause;
  const since = pause ? ` since ${toRfc3339(pause.at)}${pause.reason === "" ? "" : `: ${pause.reason}`}` : "";
  return `${id} is paused${since}. Undelivered receipts wait in the store. To resume: redrive receipts resume ${id}`;
}

function reportingOutages(
  name: string,
  observer: RunObserver | undefined,
  onNotice: (notice: string) => void,
): RunObserver {
  const notice = outageNotice(name, onNotice);
  const { settled } = observing({ settled: (_, settlement) => notice(settlement) }, observer ?? {});
  return { ...observer, ...(settled && { settled }) };
}
