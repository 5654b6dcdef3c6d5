/** Runs cron schedules in three processes that are killed at random while simulated days pass, and judges the result. */
export declare function tortureSchedules(options: {
  readonly url: string;
  readonly seed: number;
  readonly days?: number;
  readonly note?: (line: string) => void;
}): Promise<{
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}>;
