import { defineConfig } from "vitest/config";
import { UnsteadyReporter } from "./test/support/unsteady-reporter.ts";

/** Where CI wants a report that a program can read. */
const reportPath = process.env.REDRIVE_TEST_REPORT;

/** Test files that run the built command line or talk to PostgreSQL. Everything else is a unit test. */
const NEEDS_SETUP = [
  "test/{console,engines,examples,journeys,package,simulation,torture}/**/*.test.ts",
  "test/cli/command-fuzz.test.ts",
  "test/cli/logs-on-terminal.test.ts",
  "test/library/**/*.test.ts",
];

const shared = {
  setupFiles: ["test/support/properties.ts"],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  pool: "forks" as const,
};

export default defineConfig({
  test: {
    maxWorkers: 3,
    reporters: [
      "default",
      new UnsteadyReporter(),
      ...(reportPath ? [["json", { outputFile: reportPath }] as ["json", { outputFile: string }]] : []),
    ],
    projects: [
      { test: { ...shared, name: "unit", include: ["test/**/*.test.ts"], exclude: NEEDS_SETUP } },
      {
        test: {
          ...shared,
          name: "whole",
          // These share one machine with each other's processes and servers. A second failure fails the run, a pass at the
          // second try is listed at its end.
          retry: 1,
          include: NEEDS_SETUP,
          globalSetup: ["test/support/build.ts", "test/support/postgres.ts"],
        },
      },
    ],
  },
});
