/** The short form of `npm run torture -- --engine postgres`: real workers, a real server, and a ledger that the commands keep. */
import { describe, expect, it } from "vitest";
import { chaos } from "../../bench/torture/chaos.mjs";
import { CHAOS_FAULTS } from "../../bench/torture/chaos-faults.mjs";
import { type ChaosTestimony, judgeChaos } from "../../bench/torture/chaos-judge.mjs";
import { seeds } from "../support/seeds.ts";

/** Other tests run at the same time; the long form has the promise of ten seconds. */
const RECOVERY_MS_MAX = 30_000;

describe.runIf(process.platform === "linux")(
  "workers of queues on PostgreSQL, struck as their server is",
  () => {
    it.each(seeds(20_263))(
      "lose nothing, acknowledge nothing twice and continue within seconds, seed %i",
      async (seed) => {
        const report = await chaos({ seed, kills: 6, faults: CHAOS_FAULTS, recoveryMsMax: RECOVERY_MS_MAX });
        expect(report.violations, `seed ${seed}; everything is kept in ${report.home}`).toEqual([]);
        expect(report.figures.strikes).toBeGreaterThan(0);
        expect(report.figures.succeeded).toBeGreaterThan(0);
      },
      300_000,
    );
  },
);

describe("the judge of the PostgreSQL torture", () => {
  const clean: ChaosTestimony = {
    items: [
      {
        itemId: "a",
        state: "done",
        priority: "high",
        attempts: [
          { number: 1, outcome: "lost", holder: "host:7:abc", endedAt: 4000 },
          { number: 2, outcome: "failed", holder: "host:8:abc", endedAt: 5500 },
          { number: 3, outcome: "succeeded", holder: "host:8:abc", endedAt: 6500 },
        ],
      },
    ],
    ledger: [
      line("start", 1, 1000),
      line("start", 2, 5000),
      line("failed", 2, 5100),
      line("start", 3, 6000),
      line("done", 3, 6100),
    ],
    strikes: [
      { what: "killWorker", at: 2000, pid: 7 },
      { what: "cutAll", at: 9000 },
    ],
    outages: [],
    events: { attempt_started: 3, attempt_succeeded: 1 },
    counters: { "attempts.succeeded": 1, "attempts.failed": 1, "attempts.lost": 1 },
    late: [{ attempt: "a/1", outcome: "succeeded" }],
    buried: new Set(),
    operations: [{ id: "op", kind: "redrive", selected: 2, succeeded: 1, failed: 1, refused: 0, endedAt: 1 }],
    recoveryMsMax: 4000,
  };

  it("finds nothing in a correct record", () => {
    expect(judgeChaos(clean)).toEqual([]);
  });

  it("does not blame the workers for an outage of the server", () => {
    expect(judgeChaos({ ...clean, recoveryMsMax: 2000 })).not.toEqual([]);
    expect(judgeChaos({ ...clean, recoveryMsMax: 2000, outages: [{ from: 1500, to: 4000 }] })).toEqual([]);
  });

  it.each<[string, Partial<ChaosTestimony>, RegExp]>([
    ["a failure that the command did not report", { ledger: without("failed", 2) }, /never said so/],
    [
      "a failure that the command calls a success",
      { ledger: [...clean.ledger, line("done", 2, 5200)] },
      /said that it was done/,
    ],
    [
      "a start that no event tells of",
      { events: { ...clean.events, attempt_started: 2 } },
      /started attempt/,
    ],
    [
      "a success that is told twice",
      { events: { ...clean.events, attempt_succeeded: 2 } },
      /tell of a success/,
    ],
    ["an attempt that was counted twice", { counters: { ...clean.counters, "attempts.lost": 2 } }, /2 lost/],
    ["a success that is reported twice", { late: [{ attempt: "a/3", outcome: "succeeded" }] }, /once more/],
    ["an operation without an end", { operations: [operation({ endedAt: undefined })] }, /has not ended/],
    ["letters that an operation lost", { operations: [operation({ succeeded: 0 })] }, /accounts for 1/],
    ["a standstill", { recoveryMsMax: 3500 }, /nothing was worked for 4000 ms/],
    ["an item that is begun again late", { recoveryMsMax: 2500 }, /not begun again for 3000 ms/],
    ["an item that comes back late", { recoveryMsMax: 1500 }, /not taken back for 2000 ms/],
  ])("finds %s", (_what, change, sentence) => {
    expect(judgeChaos({ ...clean, ...change }).join("\n")).toMatch(sentence);
  });

  function without(what: string, attempt: number) {
    return clean.ledger.filter((one) => one.what !== what || one.attempt !== attempt);
  }

  function operation(change: { endedAt?: undefined; succeeded?: number }) {
    return {
      id: "op",
      kind: "redrive",
      selected: 2,
      succeeded: 1,
      failed: 1,
      refused: 0,
      endedAt: 1,
      ...change,
    };
  }
});

function line(what: "start" | "done" | "failed", attempt: number, at: number) {
  return { what, item: "a", attempt, pid: 1, at };
}
