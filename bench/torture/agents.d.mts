import type { TortureReport } from "./torture.mjs";

export declare function tortureAgents(options: {
  readonly items: number;
  readonly kills: number;
  readonly note?: (line: string) => void;
}): Promise<TortureReport>;
