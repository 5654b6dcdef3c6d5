import { defineConfig } from "vitest/config";
import { newStoreSql } from "./scripts/new-store.mjs";
import { LongestFirst } from "./test/support/longest-first.ts";
import { UnsteadyReporter } from "./test/support/unsteady-reporter.ts";

/** Where CI wants a report that a program can read. */
const reportPath = process.env.REDRIVE_TEST_REPORT;

/** Test files that run the built command line or talk to PostgreSQL. Everything else is a unit test. */
const NEEDS_SETUP = [
  "test/{engines,examples,journeys,package,simulation,torture}/**/*.test.ts",
  "test/cli/command-fuzz.test.ts",
  "test/cli/logs-on-terminal.test.ts",
  "test/library/**/*.test.ts",
];

/** Files that replace modules, timers or variables of the process, so that each needs its own. */
const ALONE = "fix|function|fuzz|letter-mirror|live-progress|logs-on-terminal|outside-trouble|provider";
/**
 * Test files of folders that only call functions. They share a few workers, because a process and its modules cost most of them
 * more than their tests.
 */
const TOGETHER = [
  "checks,cli,config,dead-letter,delivery,intake,item,lease,queue,redrive,report,retry,run,runner,server,service,std,store",
  "support,triage,workflow",
].map((folders) => `test/{${folders}}/**/!(${ALONE}).test.ts`);

const TEMPORARY_ROOT = "test/support/temporary-root.ts";

/** Test files of the console, which share one browser. */
const IN_BROWSER = ["test/console/**/*.test.ts"];

const shared = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // A busy machine is no failure: what a test waits for has as long as the test itself, not the second of the default.
  expect: { poll: { timeout: 60_000 } },
  pool: "forks" as const,
};

/** What the build puts into the code. Vitest takes it out of the object that it is given, so each project has its own. */
const newStore = JSON.stringify(await newStoreSql());

export default defineConfig({
  test: {
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    reporters: [
      "default",
      new UnsteadyReporter(),
      ...(reportPath ? [["json", { outputFile: reportPath }] as ["json", { outputFile: string }]] : []),
    ],
    projects: [
      // All share one machine with each other's processes and servers. A second failure of a test fails the run, a pass at the
      // second try is listed at its end.
      {
        define: { REDRIVE_NEW_STORE: newStore },
        test: {
          ...shared,
          name: "unit",
          retry: 1,
          isolate: false,
          include: TOGETHER,
          exclude: NEEDS_SETUP,
          globalSetup: [TEMPORARY_ROOT],
        },
      },
      {
        define: { REDRIVE_NEW_STORE: newStore },
        test: {
          ...shared,
          name: "unit-alone",
          retry: 1,
          include: ["test/**/*.test.ts"],
          exclude: [...NEEDS_SETUP, ...IN_BROWSER, ...TOGETHER],
          globalSetup: [TEMPORARY_ROOT],
        },
      },
      {
        define: { REDRIVE_NEW_STORE: newStore },
        test: {
          ...shared,
          name: "whole",
          retry: 1,
          include: NEEDS_SETUP,
          globalSetup: [TEMPORARY_ROOT, "test/support/build.ts", "test/support/postgres.ts"],
        },
      },
      {
        define: { REDRIVE_NEW_STORE: newStore },
        test: {
          ...shared,
          name: "console",
          retry: 1,
          include: IN_BROWSER,
          globalSetup: [TEMPORARY_ROOT, "test/support/build.ts", "test/support/browser.ts"],
        },
      },
    ],
  },
});
