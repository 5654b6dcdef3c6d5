import { describe, expect, test } from "vitest";
import type { Verdict } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { DELAY_MS_MAX } from "../../src/retry/backoff.ts";
import { decide, type ItemHistory, needsAnswer } from "../../src/retry/decide.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/retry/policy.ts";
import { fc } from "../support/properties.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { failed, failure, lost, outcomes, policies } from "./arbitraries.ts";

const FRESH: ItemHistory = { attemptsCounted: 0, lostCount: 0 };
const exact: Policy = {
  ...DEFAULT_POLICY,
  backoff: { kind: "list", delaysMs: [2000, 4000, 8000], jitter: false },
};
const waiting: Policy = { ...exact, onOutage: "wait" };
const context = { random: () => 0.5 };

/** What a store does to the counters of an item when it settles an attempt. */
function lived(life: ItemHistory, outcome: Outcome, verdict: Verdict): ItemHistory {
  if (outcome.kind === "lost") return { ...life, lostCount: life.lostCount + 1 };
  return verdict.kind === "retry" ? { ...life, attemptsCounted: life.attemptsCounted + 1 } : life;
}

/** Runs an item through outcomes until it leaves the line; answers the tries and the last verdict. */
function live(policy: Policy, next: (tries: number) => Outcome): { tries: number; verdict: Verdict } {
  let life = FRESH;
  for (let tries = 1; tries < 1000; tries++) {
    const outcome = next(tries);
    const verdict = decide(life, outcome, policy, context);
    if (!["retry", "park", "release"].includes(verdict.kind)) return { tries, verdict };
    life = lived(life, outcome, verdict);
  }
  throw new Error("the item never came to an end");
}

describe("what an item sets for itself", () => {
  test("its retries replace those of the policy, more or fewer", () => {
    for (const [retries, tries] of [
      [0, 1],
      [1, 2],
      [9, 10],
    ] as const) {
      let life: ItemHistory = { ...FRESH, retries };
      let count = 0;
      for (let verdict: Verdict = { kind: "retry", delayMs: 0 }; verdict.kind === "retry"; count++) {
        verdict = decide(life, failed("transient"), exact, context);
        life = lived(life, failed("transient"), verdict);
      }
      expect(count).toBe(tries);
    }
  });

  test("its backoff applies, also after a lost worker", () => {
    const own: ItemHistory = { ...FRESH, backoff: { kind: "fixed", delayMs: 77, jitter: false } };
    expect(decide(own, failed("transient"), exact, context)).toEqual({ kind: "retry", delayMs: 77 });
    expect(decide(own, lost, exact, context)).toEqual({ kind: "retry", delayMs: 77 });
  });

  test("a permanent failure buries it at once, whatever its settings", () => {
    expect(decide({ ...FRESH, retries: 9 }, failed("permanent"), exact, context)).toMatchObject({
      kind: "bury",
    });
  });
});

describe("the order of the rules", () => {
  test("a success is done, whatever came before", () => {
    expect(decide({ attemptsCounted: 99, lostCount: 99 }, { kind: "succeeded" }, exact, context)).toEqual({
      kind: "done",
    });
  });

  test("a failure of the runner releases the item, even after the last attempt", () => {
    const released = { kind: "released", why: "disk full" } as const;
    expect(decide({ attemptsCounted: 99, lostCount: 99 }, released, exact, context)).toEqual({
      kind: "release",
    });
  });

  test("a permanent failure is buried at once, with its type in the reason", () => {
    const outcome = { kind: "failed", failure: failure("permanent", "PermissionError") } as const;
    expect(decide(FRESH, outcome, exact, context)).toEqual({
      kind: "bury",
      reason: "permanent failure (PermissionError), not retried",
    });
  });

  test.each(["skip", "stop"] as const)("a permanent failure meets the policy's %s at once", (action) => {
    const verdict = decide(FRESH, failed("permanent"), { ...exact, onItemFailure: action }, context);
    expect(verdict).toEqual({ kind: action, reason: "permanent failure (CommandFailed), not retried" });
  });

  test.each(["transient", "unknown"] as const)("%s is tried again after the backoff", (errorClass) => {
    const delays = [0, 1].map((attemptsCounted) =>
      decide({ attemptsCounted, lostCount: 0 }, failed(errorClass), exact, context),
    );
    expect(delays).toEqual([
      { kind: "retry", delayMs: 2000 },
      { kind: "retry", delayMs: 4000 },
    ]);
  });

  test("the other side can request a longer wait before a retry, not a shorter one", () => {
    expect(decide(FRESH, failed("transient", 7000), exact, context)).toEqual({
      kind: "retry",
      delayMs: 7000,
    });
    expect(decide(FRESH, failed("transient", 700), exact, context)).toEqual({ kind: "retry", delayMs: 2000 });
  });

  test("`retry` tries again without backoff, and ends as a letter", () => {
    const policy = { ...exact, onItemFailure: "retry" } as const;
    expect(decide(FRESH, failed("unknown"), policy, context)).toEqual({ kind: "retry", delayMs: 0 });
    expect(live(policy, () => failed("unknown"))).toEqual({
      tries: 3,
      verdict: { kind: "bury", reason: "out of retries (3 of 3 attempts used)" },
    });
  });

  test("an open breaker delays a retry and a parked item until it admits somebody", () => {
    const open = { ...context, breaker: { waitMs: 20_000 } };
    expect(decide(FRESH, failed("unknown"), exact, open)).toEqual({ kind: "retry", delayMs: 20_000 });
    expect(decide(FRESH, failed("outage"), waiting, open)).toEqual({ kind: "park", delayMs: 20_000 });
    expect(decide(FRESH, failed("outage", 60_000), waiting, open)).toEqual({ kind: "park", delayMs: 60_000 });
  });
});

describe.each(["throttled", "outage"] as const)("an outage of the class %s", (errorClass) => {
  test("counts attempts like any failure, and ends as a letter", () => {
    expect(decide(FRESH, failed(errorClass), exact, context)).toEqual({ kind: "retry", delayMs: 2000 });
    expect(live(exact, () => failed(errorClass))).toEqual({
      tries: 3,
      verdict: { kind: "bury", reason: "out of retries (3 of 3 attempts used)" },
    });
  });

  test("lengthens the wait before a retry if the other side requests it", () => {
    expect(decide(FRESH, failed(errorClass, 9000), exact, context)).toEqual({ kind: "retry", delayMs: 9000 });
    expect(decide(FRESH, failed(errorClass, 10), exact, context)).toEqual({ kind: "retry", delayMs: 2000 });
  });

  test("parks the item with on_outage: wait, even after the last attempt", () => {
    const verdict = decide({ attemptsCounted: 2, lostCount: 0 }, failed(errorClass), waiting, context);
    expect(verdict).toEqual({ kind: "park", delayMs: 2000 });
  });

  test("is checked again after growing waits of at most a minute", () => {
    const delays = [1, 2, 3, 4].map((round) =>
      decide(FRESH, failed(errorClass), waiting, { ...context, outage: { waitedMs: 0, round } }),
    );
    expect(delays.map((verdict) => "delayMs" in verdict && verdict.delayMs)).toEqual([
      2000, 4000, 8000, 8000,
    ]);
    const hour = { ...waiting, backoff: { kind: "fixed", delayMs: 3_600_000, jitter: false } } as const;
    expect(decide(FRESH, failed(errorClass), hour, context)).toEqual({ kind: "park", delayMs: 60_000 });
  });

  test("is waited for until the limit, then attempts count", () => {
    const policy = { ...waiting, outageMsMax: 600_000 };
    const waited = (waitedMs: number) =>
      decide({ attemptsCounted: 2, lostCount: 0 }, failed(errorClass), policy, {
        ...context,
        outage: { waitedMs, round: 9 },
      });
    expect(waited(599_999)).toMatchObject({ kind: "park" });
    expect(waited(600_000)).toEqual({ kind: "bury", reason: "out of retries (3 of 3 attempts used)" });
  });

  test("ends when the other side said so, but not within a second and not after the limit", () => {
    const parked = (retryAfterMs: number, policy = waiting) =>
      decide(FRESH, failed(errorClass, retryAfterMs), policy, context);
    expect(parked(90_000)).toEqual({ kind: "park", delayMs: 90_000 });
    expect(parked(0)).toEqual({ kind: "park", delayMs: 1000 });
    expect(parked(90_000, { ...waiting, outageMsMax: 30_000 })).toEqual({ kind: "park", delayMs: 30_000 });
    const none = { ...waiting, backoff: { kind: "fixed", delayMs: 0, jitter: false } } as const;
    expect(decide(FRESH, failed(errorClass), none, context)).toEqual({ kind: "park", delayMs: 1000 });
  });
});

describe("an agent step that is throttled", () => {
  const agent = (retryAfterMs?: number) =>
    ({ ...failed("throttled", retryAfterMs), isAgent: true }) as Outcome;
  const waited = (waitedMs: number) => ({ ...context, outage: { waitedMs, round: 1 } });
  const HOUR_MS = 3_600_000;

  test("waits through throttling and overload for an hour, then the attempt counts", () => {
    expect(decide(FRESH, agent(), exact, waited(HOUR_MS - 1))).toMatchObject({ kind: "park" });
    expect(decide(FRESH, agent(), exact, waited(HOUR_MS))).toMatchObject({ kind: "retry" });
  });

  test("waits until the known end of its usage limit, however far away", () => {
    expect(decide(FRESH, agent(5 * HOUR_MS), exact, waited(HOUR_MS))).toEqual({
      kind: "park",
      delayMs: 5 * HOUR_MS,
    });
  });

  test("counts the attempt if the policy has on_outage: retry", () => {
    const policy = { ...exact, onOutage: "retry" } as const;
    expect(decide(FRESH, agent(), policy, context)).toEqual({ kind: "retry", delayMs: 2000 });
  });
});

describe("a breaker that was not closed when the attempt ended", () => {
  const outage = { ...context, breaker: { waitMs: 20_000, isOutage: true } };

  test.each(["transient", "unknown", "throttled", "outage"] as const)(
    "pitfall 43: parks a %s failure, even after the last attempt",
    (errorClass) => {
      expect(decide({ attemptsCounted: 2, lostCount: 0 }, failed(errorClass), exact, outage)).toEqual({
        kind: "park",
        delayMs: 20_000,
      });
    },
  );

  test("does not delay a permanent failure", () => {
    expect(decide(FRESH, failed("permanent"), exact, outage)).toMatchObject({ kind: "bury" });
  });
});

describe("attempts", () => {
  test.each([1, 2, 3, 10])("%d attempts are that many tries", (maxAttempts) => {
    expect(live({ ...exact, maxAttempts }, () => failed("unknown"))).toEqual({
      tries: maxAttempts,
      verdict: { kind: "bury", reason: `out of retries (${maxAttempts} of ${maxAttempts} attempts used)` },
    });
  });

  test.each([
    ["dlq", "bury"],
    ["retry", "bury"],
    ["skip", "skip"],
    ["stop", "stop"],
  ] as const)("when they are attemptsCounted, %s means %s", (onItemFailure, kind) => {
    const { tries, verdict } = live({ ...exact, onItemFailure }, () => failed("transient"));
    expect([tries, verdict.kind]).toEqual([3, kind]);
  });

  test("parking and releasing in between count none", () => {
    const detours = fc.array(fc.constantFrom("park", "release", "fail"), { maxLength: 30 });
    fc.assert(
      fc.property(detours, fc.integer({ min: 1, max: 6 }), (steps, maxAttempts) => {
        let failures = 0;
        const { verdict } = live({ ...waiting, maxAttempts }, (tries) => {
          const step = steps[tries - 1] ?? "fail";
          if (step === "park") return failed("outage");
          if (step === "release") return { kind: "released", why: "shutdown" };
          failures++;
          return failed("unknown");
        });
        expect(failures).toBe(maxAttempts);
        expect(verdict.kind).toBe("bury");
      }),
    );
  });
});

describe("a worker that vanishes", () => {
  test("returns the item with its own count, and buries it in the end", () => {
    const verdicts = [0, 1, 2].map((lostCount) =>
      decide({ attemptsCounted: 2, lostCount }, lost, exact, context),
    );
    expect(verdicts).toEqual([
      { kind: "retry", delayMs: 2000 },
      { kind: "retry", delayMs: 4000 },
      { kind: "bury", reason: "the worker vanished 3 times" },
    ]);
  });

  test("counts no attempt", () => {
    const policy = { ...exact, lossesMax: 10 };
    const { tries } = live(policy, (count) => (count <= 5 ? lost : failed("unknown")));
    expect(tries).toBe(5 + policy.maxAttempts);
  });
});

test("every delay is a whole number of milliseconds within a year, and the same input gives the same verdict", () => {
  const lives = fc.record({ attemptsCounted: fc.nat(20_000), lostCount: fc.nat(20_000) });
  fc.assert(
    fc.property(lives, outcomes, policies, fc.nat(), (life, outcome, policy, seed) => {
      const verdict = decide(life, outcome, policy, { random: seededRandom(seed) });
      expect(decide(life, outcome, policy, { random: seededRandom(seed) })).toEqual(verdict);
      if (!("delayMs" in verdict)) return;
      expect(Number.isInteger(verdict.delayMs)).toBe(true);
      expect(verdict.delayMs).toBeGreaterThanOrEqual(verdict.kind === "park" ? 1000 : 0);
      expect(verdict.delayMs).toBeLessThanOrEqual(DELAY_MS_MAX);
    }),
  );
});

test("every kind of verdict is reached", () => {
  const seen = new Set<string>();
  const sample = fc.sample(fc.tuple(outcomes, policies), { numRuns: 2000, seed: 1 });
  for (const [outcome, policy] of sample)
    seen.add(decide({ attemptsCounted: 1, lostCount: 1 }, outcome, policy, context).kind);
  expect([...seen].sort()).toEqual(["bury", "done", "park", "release", "retry", "skip", "stop"]);
});

describe("a policy with a handler", () => {
  const policy: Policy = { ...DEFAULT_POLICY, maxAttempts: 2, onItemFailure: "custom" };
  const unknown = failed("unknown");

  test("calls it when the item would be given up, and not before", () => {
    expect(needsAnswer({ attemptsCounted: 0, lostCount: 0 }, unknown, policy)).toBe(false);
    expect(needsAnswer({ attemptsCounted: 1, lostCount: 0 }, unknown, policy)).toBe(true);
    expect(needsAnswer({ attemptsCounted: 0, lostCount: 0 }, failed("permanent"), policy)).toBe(true);
    expect(
      needsAnswer({ attemptsCounted: 1, lostCount: 0 }, unknown, { ...policy, onItemFailure: "dlq" }),
    ).toBe(false);
    expect(needsAnswer({ attemptsCounted: 1, lostCount: 0 }, { kind: "succeeded" }, policy)).toBe(false);
  });

  test("follows its answer", () => {
    const life = { attemptsCounted: 1, lostCount: 0 };
    expect(decide(life, unknown, policy, { ...context, answer: "handled" })).toEqual({
      kind: "skip",
      reason: "handled: out of retries (2 of 2 attempts used)",
    });
    expect(decide(life, unknown, policy, { ...context, answer: "retry" })).toMatchObject({ kind: "retry" });
    expect(decide(life, unknown, policy, { ...context, answer: "dlq" })).toMatchObject({ kind: "bury" });
    expect(decide(life, unknown, policy, context)).toMatchObject({ kind: "bury" });
  });
});
