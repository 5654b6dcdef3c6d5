/** The types of crowd.mjs. */
export const CLI: string;
export function crowd(options: {
  readonly rounds?: number;
  readonly itemsPerJob?: number;
  readonly random?: () => number;
  readonly note?: (line: string) => void;
}): Promise<{
  readonly violations: readonly string[];
  readonly figures: { readonly processes: number; readonly jobs: number };
  readonly home: string;
}>;
