/** The types of bulk-kill.mjs. */
export function bulkKill(options: {
  readonly letters?: number;
  readonly kills?: number;
  readonly random?: () => number;
  readonly note?: (line: string) => void;
}): Promise<{
  readonly violations: readonly string[];
  readonly figures: { readonly letters: number; readonly kills: number };
  readonly home: string;
}>;
