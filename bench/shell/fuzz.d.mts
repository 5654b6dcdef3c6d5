export interface Shell {
  readonly name: string;
  readonly argv: readonly string[];
}

export interface Violation {
  readonly what: string;
}

export interface FuzzReport {
  readonly scripts: number;
  readonly accepted: number;
  readonly refused: number;
  readonly runs: number;
  readonly violations: readonly Violation[];
}

export function findShells(): { readonly found: readonly Shell[]; readonly missing: readonly string[] };

export function fuzzScripts(options: {
  readonly fillScript: unknown;
  readonly count: number;
  readonly seed: number;
  readonly shells: readonly Shell[];
  readonly onBatch?: (report: FuzzReport) => void;
}): FuzzReport;

export function fuzzAgents(options: {
  readonly programOf: unknown;
  readonly count: number;
  readonly seed: number;
}): { readonly agents: number; readonly accepted: number; readonly violations: readonly Violation[] };
