import type { TortureReport } from "./torture.mjs";

/** Migrates a store while workers of both versions are struck, and checks it against the ledger of their commands. */
export declare function tortureUpgrade(options: {
  readonly seed: number;
  /** Default `sqlite`. */
  readonly engine?: "sqlite" | "postgres";
  readonly items?: number;
  /** The number of strikes before the migration, and again after it. */
  readonly strikes?: number;
  /** The number of kills of the migration. */
  readonly kills?: number;
}): Promise<TortureReport>;
