/**
 * Leases of operations: of all servers of a store, one drives an operation, and another takes over when that one dies. All
 * leases are in one document. Two drivers would do no harm, because every step is atomic, but twice the work.
 */
import type { Engine } from "../engine.ts";
import { isJsonObject, type JsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";

const DOCUMENT = "server/operations";

/** How long a lease lasts unless it is renewed. */
export const LEASE_MS = 10_000;
/** How often leases are renewed, and operations without a driver are looked for. */
export const ROUND_MS = 3_000;

interface Lease {
  readonly by: string;
  readonly until: number;
}

type Leases = Readonly<Record<string, Lease>>;

export class OperationLeases {
  readonly #engine: Engine;
  readonly #by = randomName(10);

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes or renews the lease of an operation. Returns false while another server has it. */
  async take(id: string): Promise<boolean> {
    let isTaken = false;
    await this.#change((leases, now) => {
      const found = leases[id];
      isTaken = found === undefined || found.by === this.#by || found.until <= now;
      return isTaken ? { ...leases, [id]: { by: this.#by, until: now + LEASE_MS } } : null;
    });
    return isTaken;
  }

  async release(id: string): Promise<void> {
    await this.#change((leases) => {
      if (leases[id]?.by !== this.#by) return null;
      const { [id]: _, ...others } = leases;
      return others;
    });
  }

  /** Leaves out leases that ended long ago, so that the document stays small. A null changes nothing. */
  async #change(step: (leases: Leases, now: number) => Leases | null): Promise<void> {
    for (;;) {
      const document = await this.#engine.readDocument(DOCUMENT);
      const now = await this.#engine.now();
      const next = step(leasesIn(document?.body), now);
      if (next === null) return;
      const alive = Object.entries(next).filter(([, { until }]) => until > now - LEASE_MS);
      const body = { leases: Object.fromEntries(alive) } as unknown as JsonObject;
      if (await this.#engine.writeDocument(DOCUMENT, { seen: document?.version ?? 0, body })) return;
    }
  }
}

function leasesIn(body: unknown): Leases {
  return isJsonObject(body) && isJsonObject(body.leases) ? (body.leases as unknown as Leases) : {};
}
