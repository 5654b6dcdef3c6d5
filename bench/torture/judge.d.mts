export interface Testimony {
  /** All ids that were given to the map. */
  readonly inputIds: readonly string[];
  /** What the store says. */
  readonly items: readonly {
    readonly itemId: string;
    readonly state: string;
    readonly attempts: readonly {
      readonly number: number;
      readonly outcome: string;
      readonly endedAt?: number;
    }[];
  }[];
  /** What the commands wrote down. */
  readonly ledger: readonly {
    readonly what: "start" | "done" | "failed";
    readonly item: string;
    readonly attempt: number;
    readonly pid: number;
    readonly at: number;
  }[];
}

/** One sentence for each promise that was broken. */
export declare function judge(testimony: Testimony): string[];
