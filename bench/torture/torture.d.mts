/** A weight and what it stands for. */
export type Fault = readonly [weight: number, strike: (...given: never[]) => Promise<void>];

export interface TortureOptions {
  readonly seed: number;
  /** How many items in all. */
  readonly items: number;
  /** How many rounds. */
  readonly kills: number;
  readonly faults: readonly Fault[];
}

/** Runners are always at work and struck several times a second, at launchers and commands as well. */
export interface SteadyOptions {
  readonly seed: number;
  readonly isSteady: true;
  /** Ends after so many strikes. */
  readonly kills: number;
}

export interface TortureReport {
  /** One sentence for each promise that was broken. */
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
  /** How many strikes there were of each fault. */
  readonly faults: Readonly<Record<string, number>>;
  /** Kept only when there are violations. */
  readonly home: string;
}

/** Tortures runners of one job, lets the last one finish, and judges the store by the commands' ledger. */
export declare function torture(options: TortureOptions | SteadyOptions): Promise<TortureReport>;
