/**
 * Leases of operations: of all servers of a store, only one runs an operation, and another takes over if that
 * one dies. All leases are in one document. Running an operation twice would be harmless, because every step
 * is atomic, but would double the work.
 */
import type { Engine } from "../engine.ts";
import { isJsonObject, type JsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";

const DOCUMENT = "server/operations";

/** How long a lease lasts if it is not renewed. */
export const LEASE_MS = 10_000;
/** The interval for renewing leases, and for finding operations without a lease. */
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

  /** Takes or renews the lease of an operation. Returns false if another server holds it. */
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

  /** Drops leases that expired long ago, so that the document stays small. A null result changes nothing. */
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
