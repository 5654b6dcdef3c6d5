import type { PostgresPair } from "./postgres-pair.mjs";
import type { TortureReport } from "./torture.mjs";

export interface ChaosOptions {
  readonly seed: number;
  /** How many strikes. */
  readonly kills: number;
  /** How long it lasts, instead of `kills`. */
  readonly minutes?: number;
  /** See chaos-faults.mjs. Only without `isSteady`. */
  readonly faults?: readonly WeightedFault[];
  /** A strike several times a second, also at launchers and commands. */
  readonly isSteady?: boolean;
  /** The share of the strikes that are fail-overs, with a pair of servers. Default 0.03. */
  readonly failOverShare?: number;
  /** Default `postgres`. */
  readonly engine?: "sqlite" | "postgres";
  /** Closed in the end. Default: one of its own. */
  readonly server?: PostgresPair;
  /** Within which a killed worker's items run again. Default 10 s. */
  readonly recoveryMsMax?: number;
  readonly note?: (line: string) => void;
}

export type WeightedFault = readonly [weight: number, strike: (...given: never[]) => Promise<void>];

/** Strikes at workers, connections and the server, lets the rest be worked, and judges the store by the ledger. */
export declare function chaos(options: ChaosOptions): Promise<TortureReport>;
