import type { Testimony } from "./judge.mjs";

export interface ChaosTestimony {
  /** What the store says. */
  readonly items: readonly {
    readonly itemId: string;
    readonly state: string;
    readonly priority: string;
    readonly attempts: readonly {
      readonly number: number;
      readonly outcome: string;
      /** `machine:pid:name`. */
      readonly holder: string;
      readonly endedAt?: number;
    }[];
  }[];
  /** What the commands wrote down, in the order of time. */
  readonly ledger: Testimony["ledger"];
  /** What was done, and to which process. */
  readonly strikes: readonly { readonly what: string; readonly at: number; readonly pid?: number }[];
  /** When the server could not be reached. */
  readonly outages: readonly { readonly from: number; readonly to: number }[];
  /** How many events of each type there are, and the sums of all counters. */
  readonly events: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<string, number>>;
  /** What workers reported that had lost their leases; attempts as `item/attempt`. */
  readonly late: readonly { readonly attempt: string; readonly outcome: string }[];
  /** Attempts after which their item was buried, as `item/attempt`: they are begun again by a redrive only. */
  readonly buried: ReadonlySet<string>;
  readonly operations: readonly {
    readonly id: string;
    readonly kind: string;
    readonly selected: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly refused: number;
    readonly endedAt?: number | undefined;
  }[];
  /** The processes of commands that were killed by themselves. Default: none. */
  readonly killedCommands?: ReadonlySet<number>;
  /** Within which a killed worker's items run again. */
  readonly recoveryMsMax: number;
}

/** One sentence for each promise that was broken. */
export declare function judgeChaos(testimony: ChaosTestimony): string[];
