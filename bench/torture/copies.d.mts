import type { TortureReport } from "./torture.mjs";

/** Kills copies of a store `kills` times each and compares the last one with the source. */
export declare function tortureCopies(options: {
  readonly seed: number;
  readonly letters?: number;
  readonly kills?: number;
}): Promise<TortureReport>;
