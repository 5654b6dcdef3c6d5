/** Runs random transactions against a server of its own, with kills and lost connections, and judges the result. */
export declare function tortureTransactions(options: {
  readonly seed: number;
  readonly transactions?: number;
  readonly writers?: number;
  readonly note?: (line: string) => void;
}): Promise<{
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}>;
