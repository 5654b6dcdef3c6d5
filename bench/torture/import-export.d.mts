import type { TortureReport } from "./torture.mjs";

/** Kills imports and exports in their middle, `kills` times each, and judges what is there when they were run again. */
export declare function tortureImportExport(options: {
  readonly seed: number;
  readonly letters?: number;
  readonly kills?: number;
}): Promise<TortureReport>;
