import { defineConfig } from "vitest/config";

/** Where CI wants a report that a program can read. */
const reportPath = process.env.REDRIVE_TEST_REPORT;

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/build.ts", "test/support/postgres.ts"],
    setupFiles: ["test/support/properties.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 3,
    reporters: reportPath ? ["default", ["json", { outputFile: reportPath }]] : ["default"],
  },
});
