/** A weight and its fault. */
export type Fault = readonly [weight: number, strike: (...given: never[]) => Promise<void>];

export interface TortureOptions {
  readonly seed: number;
  /** The total number of items. */
  readonly items: number;
  /** The number of rounds. */
  readonly kills: number;
  readonly faults: readonly Fault[];
}

/** Runners work all the time and are struck several times a second, as are their launchers and commands. */
export interface SteadyOptions {
  readonly seed: number;
  readonly isSteady: true;
  /** Ends after this many strikes. */
  readonly kills: number;
}

export interface TortureReport {
  /** One sentence for each violated guarantee. */
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
  /** The number of strikes by fault. */
  readonly faults: Readonly<Record<string, number>>;
  /** Kept only if there are violations. */
  readonly home: string;
}

/** Tortures runners of one job, lets the last one finish, and checks the store against the ledger of the commands. */
export declare function torture(options: TortureOptions | SteadyOptions): Promise<TortureReport>;
