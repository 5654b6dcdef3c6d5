/** A weight and what it stands for. */
export type Blow = readonly [weight: number, strike: (...given: never[]) => Promise<void>];

export interface TortureOptions {
  readonly seed: number;
  /** How many items in all. */
  readonly items: number;
  /** How many rounds. */
  readonly kills: number;
  readonly blows: readonly Blow[];
}

export interface TortureReport {
  /** One sentence for each promise that was broken. */
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
  /** Kept only when there are violations. */
  readonly home: string;
}

/** Tortures runners of one job, lets the last one finish, and judges the store by the commands' ledger. */
export declare function torture(options: TortureOptions): Promise<TortureReport>;
