import type { TortureReport } from "./torture.mjs";

/** Migrates a store while workers of the old and the new version are struck, and judges it by the ledger of their commands. */
export declare function tortureUpgrade(options: {
  readonly seed: number;
  /** Default `sqlite`. */
  readonly engine?: "sqlite" | "postgres";
  readonly items?: number;
  /** Before the migration, and again after it. */
  readonly strikes?: number;
  /** Of the migration itself. */
  readonly kills?: number;
}): Promise<TortureReport>;
