/**
 * Delivers the receipts of a target in this process, beside whoever else does: all that wait, until it is told to end, or
 * the letters of one redrive. What a person should know, an outage or a pause, is said once.
 */
import { type Delivery, openDelivery } from "../delivery/open-delivery.ts";
import { targetSpecOf } from "../delivery/spec.ts";
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { systemClock, toRfc3339 } from "../kit/clock.ts";
import { LiveSettings } from "../queue/live-settings.ts";
import { Worker } from "../queue/worker.ts";
import type { RunObserver, RunResult } from "../runner/runner.ts";
import { AutoRecovery } from "./auto-recover.ts";
import { openCompanions } from "./companions.ts";
import { drainedBy } from "./drained-by.ts";
import { OutageNotice } from "./outage-notice.ts";
import type { RunDeps } from "./run-job.ts";
import { tellingFaults } from "./tell-fault.ts";
import type { Work } from "./work.ts";

/** How many receipts are on their way at a time, when nobody says otherwise. */
export const DELIVERY_SLOTS = 10;

/** A function of ours that does not heed a stop is left behind. */
const ABANDON_AFTER_MS = 5000;

export interface DeliverOptions {
  /** How many are on their way at a time. */
  readonly slots: number;
  /** What this process alone may begin. */
  readonly rate?: Rate;
  /** Ends when nothing waits. */
  readonly untilEmpty: boolean;
  /** Whether letters that died of an outage are sent again once the target takes receipts. Default true. */
  readonly autoRecover?: boolean;
  readonly onNotice: (notice: string) => void;
}

/** Delivers what waits, until it is told to end, or nothing waits if that is wanted. */
export async function deliverTarget(deps: RunDeps, target: Job, options: DeliverOptions): Promise<RunResult> {
  const { engine, clock = systemClock } = deps;
  return tellingFaults(engine, target.id, async () => {
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
  const { engine, home, clock = systemClock, companions: openers = [] } = deps;
  const companions = openCompanions(openers, target, { engine, home, clock, onNotice });
  const recovery = new AutoRecovery({ engine, target, delivery, clock, onNotice });
  const observer = tellingOutages(target.id, deps.observer, onNotice);
  const settled: NonNullable<RunObserver["settled"]> = (item, settlement, outcome) => {
    companions.settled(item, settlement);
    recovery.settled(item, settlement);
    observer.settled?.(item, settlement, outcome);
  };
  const work = () => {
    const worker = new Worker(engine, target.id, {
      handler: delivery.handler,
      isTarget: true,
      concurrency: slots,
      untilEmpty,
      signal: deps.stop,
      abandonAfterMs: ABANDON_AFTER_MS,
      clock,
      observer: { ...observer, settled },
      ...(rate && { rate }),
      ...(deps.storeWaitMs !== undefined && { storeWaitMs: deps.storeWaitMs }),
      ...(deps.toxicAfter !== undefined && { toxicAfter: deps.toxicAfter }),
      ...(deps.groupRules && { groupRules: deps.groupRules }),
      ...(deps.classRules && { classRules: deps.classRules }),
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
    await companions.stop();
  }
}

/** Ends when nothing waits, and no letter of an outage can be sent again. */
async function untilRecovered(recovery: AutoRecovery, work: () => Promise<RunResult>): Promise<RunResult> {
  await recovery.look();
  for (;;) {
    const result = await work();
    if (result.end !== "finished" || !recovery.isTaking || (await recovery.look()) === 0) return result;
  }
}

export interface Redelivery {
  readonly job: Job;
  readonly onNotice?: (notice: string) => void;
}

/**
 * Has letters of a target run with its delivery as their work. A pause ends it, for nothing more would go however long one
 * waits: what is on its way comes to its end, and the rest stays in line.
 */
export async function redeliver(
  deps: RunDeps,
  { job, onNotice = () => undefined }: Redelivery,
  run: (deps: RunDeps, work: Work) => Promise<void>,
): Promise<void> {
  const paused = new AbortController();
  const drain = deps.drain ? AbortSignal.any([deps.drain, paused.signal]) : paused.signal;
  const observer = tellingOutages(job.id, deps.observer, onNotice);
  const work = await openTargetWork(deps, job);
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

async function openTargetWork({ engine, clock = systemClock }: RunDeps, job: Job): Promise<Work> {
  const spec = targetSpecOf(job);
  const { handler, close } = await openDelivery(engine, job, { clock });
  const settings = new LiveSettings(engine, job.id, { spec, clock });
  return { handler, policy: spec.policy, slots: DELIVERY_SLOTS, settings: settings.now, close };
}

async function pausedText(engine: Engine, { id }: Job): Promise<string> {
  const pause = (await engine.findJob(id))?.pause;
  const since = pause ? ` since ${toRfc3339(pause.at)}${pause.reason === "" ? "" : `: ${pause.reason}`}` : "";
  return `${id} is paused${since}. What was not delivered stays in line; \`redrive receipts resume ${id}\` lets it go on.`;
}

function tellingOutages(
  name: string,
  observer: RunObserver = {},
  onNotice: (notice: string) => void,
): RunObserver {
  const notice = new OutageNotice(name, onNotice);
  return {
    ...observer,
    settled: (item, settlement, outcome) => {
      observer.settled?.(item, settlement, outcome);
      notice.settled(settlement);
    },
  };
}
