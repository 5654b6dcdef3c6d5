import type { TortureReport } from "./torture.mjs";

export declare function tortureReadAhead(options: {
  readonly items: number;
  readonly kills: number;
  readonly random: () => number;
  readonly note?: (line: string) => void;
}): Promise<TortureReport>;
