import type { TortureReport } from "./torture.mjs";

/** Kills imports and exports `kills` times each and checks the result after they were run again. */
export declare function tortureImportExport(options: {
  readonly seed: number;
  readonly letters?: number;
  readonly kills?: number;
}): Promise<TortureReport>;
