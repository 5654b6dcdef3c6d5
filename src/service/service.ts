/** The shape of background services. A service never delays the work and never fails it; its problems become notices. */
import type { Engine } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Clock } from "../std/clock.ts";
import { isJsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";

export interface Service {
  /** Called after the store has the settlement. Returns at once. */
  settled?(item: LeasedItem, settlement: Settlement): void;
  /** Does what is left to do, and releases everything. */
  stop(): Promise<void>;
}

/** Starts a service for a job's run, or for a worker of its queue. */
export type StartService = (job: Job, context: ServiceContext) => Service;

export interface ServiceContext {
  readonly engine: Engine;
  readonly home: string;
  readonly clock: Clock;
  readonly onNotice: (notice: string) => void;
}

/** Starts all of them as one service. Never throws, and neither does what it returns. */
export function startServices(
  starters: readonly StartService[],
  job: Job,
  context: ServiceContext,
): Required<Service> {
  const report = (error: unknown) => context.onNotice(noticeOf(error));
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
    // One after the other, so that the last one sees what those before it did to the letters.
    stop: async () => {
      for (const service of services) await service.stop().catch(report);
    },
  };
}

function noticeOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `The work is not affected, but: ${message}`;
}

/** Lets one process at a time, of all that share a store, do the work of a service. */
export class Leader {
  readonly #engine: Engine;
  readonly #document: string;
  readonly #id = randomName(10);

  /** `name`: what is led, e.g. `maintenance/orders`. */
  constructor(engine: Engine, name: string) {
    this.#engine = engine;
    this.#document = `leader/${name}`;
  }

  /** True when this process leads for so long from now. Of two that ask at once, at most one gets it. */
  async acquire(forMs: number): Promise<boolean> {
    const found = await this.#engine.readDocument(this.#document);
    const now = await this.#engine.now();
    const term = isJsonObject(found?.body) ? found.body : {};
    if (term.by !== this.#id && typeof term.until === "number" && term.until > now) return false;
    const body = { by: this.#id, until: now + forMs };
    return this.#engine.writeDocument(this.#document, { seen: found?.version ?? 0, body });
  }

  /** The next process need not wait until the term is over. */
  async resign(): Promise<void> {
    await this.acquire(0);
  }
}
