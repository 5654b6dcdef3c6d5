export interface Testimony {
  /** All ids in the input of the map. */
  readonly inputIds: readonly string[];
  /** The items in the store. */
  readonly items: readonly {
    readonly itemId: string;
    readonly state: string;
    readonly attempts: readonly {
      readonly number: number;
      readonly outcome: string;
      readonly endedAt?: number;
    }[];
  }[];
  /** The lines that the commands wrote. */
  readonly ledger: readonly {
    readonly what: "start" | "done" | "failed";
    readonly item: string;
    readonly attempt: number;
    readonly pid: number;
    readonly at: number;
  }[];
}

/** Returns one sentence for each violated guarantee. */
export declare function judge(testimony: Testimony): string[];
