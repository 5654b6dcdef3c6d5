/** One round of a campaign. */
export interface CampaignResult {
  readonly kind: string;
  readonly strikes: number;
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
}

/** Appends the rows of a campaign to the file and recomputes the totals. */
export declare function appendReport(
  path: string,
  campaign: {
    readonly seed: number;
    readonly results: readonly CampaignResult[];
    readonly date?: Date;
    readonly commit?: string;
  },
): void;
