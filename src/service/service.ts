/** The interface of background services. A service never delays or fails the work; its errors are reported as notices. */
import type { Engine } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Clock } from "../std/clock.ts";
import { isJsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";

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
    // Stops sequentially, so that later services see what earlier ones did to the letters.
    stop: async () => {
      for (const service of services) await service.stop().catch(report);
    },
  };
}

function noticeOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `The work is not affected, but: ${message}`;
}

/** Elects one process among all that share a store to do the work of a service. */
export class Leader {
  readonly #engine: Engine;
  readonly #document: string;
  readonly #id = randomName(10);

  /** `name` identifies the work, e.g. `maintenance/orders`. */
  constructor(engine: Engine, name: string) {
    this.#engine = engine;
    this.#document = `leader/${name}`;
  }

  /** Makes this process the leader for the given time. Returns false if another process leads; at most one succeeds. */
  async acquire(forMs: number): Promise<boolean> {
    const found = await this.#engine.readDocument(this.#document);
    const now = await this.#engine.now();
    const term = isJsonObject(found?.body) ? found.body : {};
    if (term.by !== this.#id && typeof term.until === "number" && term.until > now) return false;
    const body = { by: this.#id, until: now + forMs };
    return this.#engine.writeDocument(this.#document, { seen: found?.version ?? 0, body });
  }

  /** Ends the term, so that another process can take over immediately. */
  async resign(): Promise<void> {
    await this.acquire(0);
  }
}
