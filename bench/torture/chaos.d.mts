import type { PostgresPair } from "./postgres-pair.mjs";
import type { TortureReport } from "./torture.mjs";

export interface ChaosOptions {
  readonly seed: number;
  /** The number of strikes. */
  readonly kills: number;
  /** The duration, instead of `kills`. */
  readonly minutes?: number;
  /** See chaos-faults.mjs. Only without `isSteady`. */
  readonly faults?: readonly WeightedFault[];
  /** Strikes several times a second, also at launchers and commands. */
  readonly isSteady?: boolean;
  /** The share of the strikes that are fail-overs, with a pair of servers. Default 0.03. */
  readonly failOverShare?: number;
  /** Default `postgres`. */
  readonly engine?: "sqlite" | "postgres";
  /** Closed at the end. Default: a new one. */
  readonly server?: PostgresPair;
  /** The time within which a killed worker's items must run again. Default 10 s. */
  readonly recoveryMsMax?: number;
  readonly note?: (line: string) => void;
}

export type WeightedFault = readonly [weight: number, strike: (...given: never[]) => Promise<void>];

/** Strikes at workers, connections and the server, finishes the work, and checks the store against the ledger. */
export declare function chaos(options: ChaosOptions): Promise<TortureReport>;
