/**
 * The test suite of the storage contract. Every engine runs it, so behaviour is tested here and not per engine. Each test
 * gets a new store with one empty job, and ends with a `check` that must find no problem.
 */
import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import type { Clock } from "../../src/std/clock.ts";
import { TestClock } from "../support/test-clock.ts";
import { advanceTests } from "./advance.ts";
import { agentRunTests } from "./agent-runs.ts";
import { arrivalTests } from "./arrivals.ts";
import { checkTests } from "./check.ts";
import { clockRestartTests, clockTests, sharedClockTests } from "./clock.ts";
import { counterTests } from "./counters.ts";
import { decideTests } from "./decide.ts";
import { deleteJobTests } from "./delete-job.ts";
import { documentTests } from "./documents.ts";
import { durabilityTests } from "./durability.ts";
import { errorTests } from "./errors.ts";
import { eventTests } from "./events.ts";
import { fencingTests } from "./fencing.ts";
import { gateTests } from "./gate.ts";
import { groupDecisionTests } from "./group-decisions.ts";
import { groupLifeTests } from "./group-life.ts";
import { groupTests } from "./groups.ts";
import { holdTests } from "./hold.ts";
import { importTests } from "./import.ts";
import { intakeTests } from "./intake.ts";
import { itemOptionTests } from "./item-options.ts";
import { itemTests } from "./items.ts";
import { jobTests } from "./jobs.ts";
import { leaseTests } from "./lease.ts";
import { letterFilterTests } from "./letter-filters.ts";
import { letterPageTests } from "./letter-pages.ts";
import { letterTests } from "./letters.ts";
import { noteTests } from "./notes.ts";
import { operationChangeTests } from "./operation-changes.ts";
import { orderTests } from "./order.ts";
import { orderingKeyTests } from "./ordering-keys.ts";
import { purgeTests } from "./purge.ts";
import { queueTests } from "./queues.ts";
import { redriveTests } from "./redrive.ts";
import { regroupTests } from "./regroup.ts";
import { replaceTests } from "./replace.ts";
import { requeueTests } from "./requeue.ts";
import { selectionTests } from "./selection.ts";
import { settleTests } from "./settle.ts";
import { sharedTests } from "./shared.ts";
import { type ConnectCaller, transactionTests } from "./transactions.ts";
import { type Declare, QUEUE, Workbench } from "./workbench.ts";

export interface EngineUnderTest {
  /** Opens a new, empty store. */
  open(clock: Clock): Promise<Engine>;
  /** Closes the engine and reopens its store. Without it, the tests of durability are left out. */
  reopen?(engine: Engine): Promise<Engine>;
  /** Opens the store of the engine a second time. Without it, the tests of sharing are left out. */
  join?(engine: Engine): Promise<Engine>;
  /** Opens a connection of a caller's own to the store's database. Without it, the tests of transactions are left out. */
  readonly connect?: ConnectCaller;
  /** Titles of tests that this engine cannot pass, with the reason. */
  readonly skip?: readonly { readonly test: string; readonly why: string }[];
}

const THEMES: Readonly<Record<string, (test: Declare) => void>> = {
  jobs: jobTests,
  "deleting jobs": deleteJobTests,
  queues: queueTests,
  intake: intakeTests,
  replacement: replaceTests,
  "held items": holdTests,
  items: itemTests,
  "options and progress of items": itemOptionTests,
  "what agents used": agentRunTests,
  lease: leaseTests,
  clock: clockTests,
  order: orderTests,
  orderingKeys: orderingKeyTests,
  gates: gateTests,
  settle: settleTests,
  fencing: fencingTests,
  notes: noteTests,
  counters: counterTests,
  "the error log": errorTests,
  letters: letterTests,
  "filters of letters": letterFilterTests,
  "pages of letters": letterPageTests,
  groups: groupTests,
  "the life of groups": groupLifeTests,
  "decisions about groups": groupDecisionTests,
  "corrections and regrouping": regroupTests,
  arrivals: arrivalTests,
  events: eventTests,
  selections: selectionTests,
  steps: advanceTests,
  redrive: redriveTests,
  decisions: decideTests,
  requeue: requeueTests,
  deletion: purgeTests,
  "changes of operations": operationChangeTests,
  import: importTests,
  documents: documentTests,
  check: checkTests,
};

/** Runs the whole contract against an engine. */
export function engineSuite(name: string, engine: EngineUnderTest): void {
  const titles: string[] = [];
  const test: Declare = (title, body) => {
    titles.push(title);
    const skip = engine.skip?.find((entry) => entry.test === title);
    if (skip) it.skip(`${title} (skipped: ${skip.why})`);
    else it(title, () => withBench(engine, body));
  };

  describe(`the ${name} engine`, () => {
    for (const [theme, declare] of Object.entries(THEMES)) describe(theme, () => declare(test));
    if (engine.reopen) {
      describe("durability", () => durabilityTests(test));
      describe("clock after a restart", () => clockRestartTests(test));
    }
    const connect = engine.connect;
    if (connect) describe("transactions of callers", () => transactionTests(test, connect));
    const join = engine.join;
    if (join) {
      describe("sharing", () => sharedTests(test, join));
      describe("a shared clock", () => sharedClockTests(test, join));
    }

    it("skips only existing tests", () => {
      for (const { test } of engine.skip ?? []) expect(titles).toContain(test);
    });
  });
}

async function withBench(under: EngineUnderTest, body: (bench: Workbench) => Promise<void>): Promise<void> {
  const clock = new TestClock();
  const bench = new Workbench(await under.open(clock), clock, under.reopen);
  try {
    await bench.job(QUEUE);
    await body(bench);
    if (!bench.closed) expect(await bench.engine.check()).toEqual([]);
  } finally {
    await bench.engine.close();
  }
}
