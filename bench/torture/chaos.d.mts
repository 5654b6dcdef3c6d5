import type { TortureReport } from "./torture.mjs";

export interface ChaosOptions {
  readonly seed: number;
  /** How many strikes. */
  readonly kills: number;
  /** How long it lasts, instead of `kills`. */
  readonly minutes?: number;
  /** See chaos-strikes.mjs. */
  readonly strikes: readonly WeightedStrike[];
  /** Within which a killed worker's items run again. Default 10 s. */
  readonly recoveryMsMax?: number;
  readonly note?: (line: string) => void;
}

export type WeightedStrike = readonly [weight: number, strike: (...given: never[]) => Promise<void>];

/** Strikes at workers, connections and the server, lets the rest be worked, and judges the store by the ledger. */
export declare function chaos(options: ChaosOptions): Promise<TortureReport>;
