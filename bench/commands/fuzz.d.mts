/** The types of `fuzz.mjs`, for tests. */
export function fuzzCommands(options: {
  readonly program: typeof import("../../src/cli/program.ts");
  readonly runs: number;
  readonly seed: number;
  readonly servers: ReadonlyMap<string, string>;
  /** A command that runs longer is asked to stop. */
  readonly patienceMs: number;
  readonly deadlineMs: number;
}): Promise<{ readonly commands: ReadonlySet<string>; readonly violations: readonly unknown[] }>;
