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
import { openCompanions } from "./companions.ts";
import { drainedBy } from "./drained-by.ts";
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
  { delivery, slots, rate, untilEmpty, onNotice }: DeliverOptions & { readonly delivery: Delivery },
): Promise<RunResult> {
  const { engine, home, clock = systemClock, companions: openers = [] } = deps;
  const companions = openCompanions(openers, target, { engine, home, clock, onNotice });
  const observer = tellingOutages(target.id, deps.observer, onNotice);
  const settled: NonNullable<RunObserver["settled"]> = (item, settlement, outcome) => {
    companions.settled(item, settlement);
    observer.settled?.(item, settlement, outcome);
  };
  try {
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
    return await drainedBy(deps.drain, worker);
  } finally {
    await companions.stop();
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

/** An outage is said when it begins and when it is over, however many receipts meet it. */
function tellingOutages(
  name: string,
  observer: RunObserver = {},
  onNotice: (notice: string) => void,
): RunObserver {
  let isOut = false;
  return {
    ...observer,
    settled: (item, settlement, outcome) => {
      observer.settled?.(item, settlement, outcome);
      if (outcome.kind === "succeeded" && isOut) {
        isOut = false;
        onNotice(`${name} answers again.`);
      }
      if (settlement.verdict.kind !== "park" || isOut || outcome.kind !== "failed") return;
      isOut = true;
      onNotice(
        `${name} does not take receipts now (${outcome.failure.errorMessage}): they wait, and go when it does.`,
      );
    },
  };
}
