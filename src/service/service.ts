/** The interface of background services. A service never delays or fails the work; its errors are reported as notices. */
import type { Engine } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { BackgroundTask } from "../std/background-task.ts";
import type { Clock } from "../std/clock.ts";
import { isJsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { messageOf } from "../std/thrown.ts";

export interface Service {
  /** Called after a settlement was stored. Must return immediately. */
  settled?(item: LeasedItem, settlement: Settlement): void;
  stop(): Promise<void>;
}

/** Starts a service for a run of a job, or for a worker of a queue. */
export type StartService = (job: Job, context: ServiceContext) => Service;

export interface ServiceContext {
  readonly engine: Engine;
  readonly home: string;
  readonly clock: Clock;
  readonly onNotice: (notice: string) => void;
}

/** Combines services into one. Errors are reported as notices, never thrown. */
export function startServices(
  starters: readonly StartService[],
  job: Job,
  context: ServiceContext,
): Required<Service> {
  const report = (error: unknown) =>
    context.onNotice(`The work is not affected, but a background service failed: ${messageOf(error)}`);
  const services = starters.flatMap((start) => {
    try {
      return [start(job, context)];
    } catch (error) {
      report(error);
      return [];
    }
  });
  return {
    settled: (item, settlement) => {
      for (const service of services) {
        try {
          service.settled?.(item, settlement);
        } catch (error) {
          report(error);
        }
      }
    },
    // Stops sequentially, so that later services see what earlier ones did to the letters.
    stop: async () => {
      for (const service of services) await service.stop().catch(report);
    },
  };
}

/** The rounds of a service. */
export interface Rounds {
  /** Runs one round. Returns the delay until the next one, or undefined to wait for a settlement. */
  readonly run: (round: { readonly isLast: boolean }) => Promise<number | undefined>;
  /** The delay of the first round. Default: a settlement starts it. */
  readonly startMs?: number | undefined;
  /** Whether a round is needed soon because of this settlement. Default: never. */
  readonly concerns?: (item: LeasedItem, settlement: Settlement) => boolean;
  /** The delay after such a settlement or a failed round, so that many settlements share one round. */
  readonly wakeMs: () => number;
  /**
   * The name of the work, e.g. `maintenance/orders`, if only one of the processes that share the store may do
   * it.
   */
  readonly leader?: string;
  readonly errorText: (reason: string) => string;
  /** Called before the last round, and after it. */
  readonly stopping?: () => void;
  readonly stopped?: () => void;
}

/**
 * Runs a service in rounds: at intervals, after settlements, and once at the end, but never two at a time.
 */
export function inRounds(define: (job: Job, context: ServiceContext) => Rounds | null): StartService {
  return (job, context) => {
    const rounds = define(job, context);
    if (rounds === null) return { stop: async () => undefined };
    const task = new BackgroundTask({ ...context, ...rounds, run: asLeader(context.engine, rounds) });
    if (rounds.startMs !== undefined) task.wake(rounds.startMs);
    return {
      settled: (item, settlement) => {
        if (rounds.concerns?.(item, settlement)) task.wake();
      },
      stop: async () => {
        rounds.stopping?.();
        await task.stop();
        rounds.stopped?.();
      },
    };
  };
}

/** The leader renews its term with every round. When the term expires, another process takes over. */
const TERM_MS = 30_000;

/** Skips the rounds while another process leads. The last round ends the term. */
function asLeader(engine: Engine, { run, wakeMs, leader }: Rounds): Rounds["run"] {
  if (leader === undefined) return run;
  const acquire = leaderElection(engine, leader);
  return async (round) => {
    if (!(await acquire(TERM_MS))) return wakeMs();
    const nextMs = await run(round);
    if (round.isLast) await acquire(0);
    return nextMs;
  };
}

/** Returns a function that makes this process the leader for the given time, or returns false if another one leads. */
function leaderElection(engine: Engine, name: string): (forMs: number) => Promise<boolean> {
  const by = randomName(10);
  return async (forMs) => {
    const found = await engine.readDocument(`leader/${name}`);
    const now = await engine.now();
    const term = isJsonObject(found?.body) ? found.body : {};
    if (term.by !== by && typeof term.until === "number" && term.until > now) return false;
    const body = { by, until: now + forMs };
    return engine.writeDocument(`leader/${name}`, { seen: found?.version ?? 0, body });
  };
}
