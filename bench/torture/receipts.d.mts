/** The types of receipts.mjs. */
export function tortureReceipts(options: {
  readonly receipts?: number;
  readonly kills?: number;
  readonly seed?: number;
  readonly note?: (line: string) => void;
}): Promise<{
  readonly violations: readonly string[];
  readonly figures: {
    readonly receipts: number;
    readonly kills: number;
    readonly requests: number;
    readonly repeats: number;
  };
  readonly home: string;
}>;
export function judgeLedger(
  ledger: readonly { readonly key: string; readonly body: string }[],
  taken: ReadonlySet<number>,
): readonly string[];
