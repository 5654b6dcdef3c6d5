import type { Testimony } from "./judge.mjs";

export interface ChaosTestimony {
  /** The items in the store. */
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
  /** The lines that the commands wrote, in order of time. */
  readonly ledger: Testimony["ledger"];
  /** The strikes, with the process that was hit. */
  readonly strikes: readonly { readonly what: string; readonly at: number; readonly pid?: number }[];
  /** When the server could not be reached. */
  readonly outages: readonly { readonly from: number; readonly to: number }[];
  /** The number of events by type, and the sums of all counters. */
  readonly events: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<string, number>>;
  /** Results of workers that had lost their leases; attempts as `item/attempt`. */
  readonly late: readonly { readonly attempt: string; readonly outcome: string }[];
  /** Attempts after which the item was buried, as `item/attempt`: only a redrive starts it again. */
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
  /** The item commands that were killed directly. Default: none. */
  readonly killedCommands?: ReadonlySet<number>;
  /** The time within which a killed worker's items must run again. */
  readonly recoveryMsMax: number;
}

/** Returns one sentence for each violated guarantee. */
export declare function judgeChaos(testimony: ChaosTestimony): string[];
