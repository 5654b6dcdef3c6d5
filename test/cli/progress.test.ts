import { expect, test } from "vitest";
import { Progress, type ProgressTerminal, type ProgressWork } from "../../src/cli/render/progress.ts";
import type { ProgressCounts } from "../../src/cli/render/progress-line.ts";
import { paintFor } from "../../src/cli/render/text.ts";
import { RedriveError } from "../../src/errors.ts";
import type { LeasedItem, Settlement, Verdict } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { FakeScreen } from "../support/fake-screen.ts";
import { TestClock } from "../support/test-clock.ts";

const START: ProgressCounts = { total: 100, ready: 98, leased: 2, held: 0, done: 0, dead: 0, skipped: 0 };

/** Progress on a fake screen, with counters that the test sets. */
function watch(options: Partial<ProgressTerminal & ProgressWork> = {}) {
  const screen = new FakeScreen();
  const clock = new TestClock();
  const store = { counts: START, asked: 0 };
  const given = {
    stderr: screen,
    isLive: true,
    isShared: true,
    columns: () => screen.columns,
    paint: paintFor({ isTty: true, env: {} }),
    clock,
    count: async () => {
      store.asked += 1;
      return store.counts;
    },
    slots: 2,
    label: "job",
    ...options,
  };
  const progress = new Progress(given);
  progress.begin(given);
  const pass = async (ms: number) => {
    await settled();
    clock.advance(ms);
    await settled();
  };
  return { screen, clock, store, progress, pass };
}

/** Lets everything happen that does not need time. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function itemOf(ref: number, change: Partial<LeasedItem> = {}): LeasedItem {
  const item = { ref, attempt: 1, queue: "job", itemId: `id-${ref}`, data: `file-${ref}.md` };
  return {
    ...item,
    attemptsCounted: 0,
    lostCount: 0,
    revision: 1,
    redriveCount: 0,
    index: 0,
    startedAt: 0,
    ...change,
  };
}

function settlementOf({ ref, attempt }: LeasedItem, verdict: Verdict): Settlement {
  return { lease: { ref, attempt }, outcome: verdict.kind === "done" ? "succeeded" : "failed", verdict };
}

const SUCCESS: Outcome = { kind: "succeeded" };
const FAILED: Outcome = {
  kind: "failed",
  failure: {
    attemptNumber: 1,
    timestamp: 0,
    errorType: { name: "RateLimited" },
    errorClass: "throttled",
    errorMessage: "curl failed with exit code 22: curl: (22) 429 Too Many Requests",
    agentId: "a",
    stepFailed: "s",
    durationMs: 1,
  },
};

const DONE: Verdict = { kind: "done" };
const RETRY: Verdict = { kind: "retry", delayMs: 1000 };

test("the lines are rewritten in place as the counters change", async () => {
  const { screen, store, pass } = watch();
  await pass(100);
  expect(screen.text).toBe("  ────────  0/100 done · 2 running");
  store.counts = { ...START, ready: 48, done: 49, dead: 1 };
  await pass(100);
  expect(screen.text).toBe("  ━━━━────  49/100 done · 2 running · 1 dead");
});

test("the store is read at most once for each redraw, and the screen is written only if something changed", async () => {
  const { screen, store, progress, pass } = watch();
  await pass(100);
  const before = { asked: store.asked, raw: screen.raw };
  for (let ref = 1; ref <= 5000; ref += 1) {
    progress.started(itemOf(ref), 1);
    progress.settled(itemOf(ref), settlementOf(itemOf(ref), DONE), SUCCESS);
  }
  expect(store.asked).toBe(before.asked);
  await pass(100);
  expect(store.asked).toBe(before.asked + 1);
  expect(screen.raw).toBe(before.raw);
  expect(progress.finished).toBe(5000);
});

test("the end removes the lines and reads the store no more", async () => {
  const { screen, clock, store, progress, pass } = watch();
  progress.started(itemOf(1), 1);
  await pass(5000);
  expect(screen.text.split("\n")).toHaveLength(2);
  await progress.stop();
  expect(screen.text).toBe("");
  const asked = store.asked;
  await pass(60_000);
  await progress.stop();
  expect([store.asked, screen.text, clock.sleeping]).toEqual([asked, "", 0]);
});

test("the end waits for the store's answer and does not draw it", async () => {
  let answer: (counts: ProgressCounts) => void = () => undefined;
  const counted = new Promise<ProgressCounts>((resolve) => {
    answer = resolve;
  });
  const { screen, progress, pass } = watch({ count: () => counted });
  await pass(100);
  let hasStopped = false;
  const stopping = progress.stop().then(() => {
    hasStopped = true;
  });
  await settled();
  expect(hasStopped).toBe(false);
  answer(START);
  await stopping;
  expect(screen.raw).toBe("");
});

test("the slowest item is the running one that started first", async () => {
  const { screen, progress, pass } = watch();
  progress.started(itemOf(1), 1);
  await pass(1000);
  progress.started(itemOf(2, { attempt: 3, attemptsCounted: 1, lostCount: 1 }), 2);
  await pass(4000);
  expect(screen.text).toContain("slowest: file-1.md (5 s)");
  progress.settled(itemOf(1), settlementOf(itemOf(1), DONE), SUCCESS);
  await pass(100);
  expect(screen.text).toContain("slowest: file-2.md (attempt 2, 4 s)");
});

test("an attempt with a stale end is forgotten when its slot is used again", async () => {
  const { screen, progress, pass } = watch();
  progress.started(itemOf(1), 1);
  await pass(4000);
  progress.started(itemOf(2), 1);
  await pass(3000);
  expect(screen.text).toContain("slowest: file-2.md (3 s)");
});

test("the late end of an attempt does not hide the next one of the same item", async () => {
  const { screen, progress, pass } = watch();
  progress.started(itemOf(1), 1);
  progress.started(itemOf(1, { attempt: 2, attemptsCounted: 1 }), 2);
  progress.settled(itemOf(1), settlementOf(itemOf(1), RETRY), FAILED);
  progress.started(itemOf(2), 1);
  await pass(4000);
  expect(screen.text).toContain("slowest: file-1.md (attempt 2, 4 s)");
});

test("an item with several fields is called by its id if that is one of them, else by its content", async () => {
  const { screen, progress, pass } = watch();
  progress.started(itemOf(1, { itemId: "src/a.md", data: { path: "src/a.md", size: 3 } }), 1);
  await pass(4000);
  expect(screen.text).toContain("slowest: src/a.md (4 s)");
  progress.started(itemOf(2, { itemId: "7h2k9m4x", data: { size: 3 } }), 1);
  await pass(4000);
  expect(screen.text).toContain('slowest: {"size":3} (4 s)');
});

test("an item that failed is retrying until it runs again", async () => {
  const { screen, progress, pass } = watch();
  progress.started(itemOf(1), 1);
  progress.settled(itemOf(1), settlementOf(itemOf(1), RETRY), FAILED);
  await pass(100);
  expect(screen.text).toContain("1 retrying");
  progress.started(itemOf(2, { attempt: 4 }), 1); // a letter that was redriven has not failed here
  await pass(100);
  expect(screen.text).toContain("1 retrying");
  progress.started(itemOf(1, { attempt: 2, attemptsCounted: 1 }), 2);
  await pass(100);
  expect(screen.text).not.toContain("retrying");
  expect(progress.finished).toBe(0);
});

test("rate and ETA are shown once they are steady", async () => {
  const { screen, store, pass } = watch();
  await settled();
  for (let second = 1; second < 3; second += 1) {
    store.counts = { ...START, done: second * 10, ready: 98 - second * 10 };
    await pass(1000);
  }
  expect(screen.text).toContain("10/s");
  expect(screen.text).not.toContain("ETA");
  store.counts = { ...START, done: 30, ready: 68 };
  await pass(1000);
  expect(screen.text).toContain("10/s · ETA 7 s");
});

test("the total is final only when the input was read completely", async () => {
  let isComplete = false;
  const { screen, pass } = watch({ isTotalKnown: async () => isComplete });
  await pass(100);
  expect(screen.text).toBe("  0 done of 100 so far · 2 running");
  isComplete = true;
  await pass(100);
  expect(screen.text).toContain("0/100 done");
});

test("a parked queue shows the reason and the length of the wait", async () => {
  const { screen, progress, pass } = watch();
  progress.settled(itemOf(1), settlementOf(itemOf(1), { kind: "park", delayMs: 20_000 }), FAILED);
  await pass(8000);
  expect(screen.text).toContain("\n  waiting: next try in 12 s (429 Too Many Requests)");
  await pass(12_000);
  expect(screen.text).not.toContain("waiting");
});

test("a store failure is shown until it is over", async () => {
  const { screen, progress, pass } = watch();
  progress.trouble(new RedriveError("store_full", "The store x.db cannot be written: the disk is full."));
  await pass(100);
  expect(screen.text).toContain("\n  waiting: The store x.db cannot be written: the disk is full.");
  progress.recovered();
  await pass(100);
  expect(screen.text).toBe("  ────────  0/100 done · 2 running");
});

test("a store that cannot count leaves the last numbers", async () => {
  const { screen, store, progress, pass } = watch();
  await pass(100);
  Object.defineProperty(store, "counts", {
    get: () => {
      throw new RedriveError("store_busy", "The store is locked.");
    },
  });
  progress.started(itemOf(1), 1);
  await pass(5000);
  expect(screen.text).toBe("  ────────  0/100 done · 2 running\n  slowest: file-1.md (5 s)");
});

test("the clock continues while the store does not answer", async () => {
  let isStuck = false;
  const count = () => (isStuck ? new Promise<ProgressCounts>(() => undefined) : Promise.resolve(START));
  const { screen, progress, pass } = watch({ count });
  progress.started(itemOf(1), 1);
  await pass(100);
  isStuck = true;
  await pass(4000);
  await pass(100);
  expect(screen.text).toContain("slowest: file-1.md (4 s)");
});

test("notes and output scroll above the lines", async () => {
  const { screen, progress, pass } = watch();
  progress.note("before");
  progress.started(itemOf(1), 1);
  await pass(5000);
  progress.note("Stopping.");
  progress.suspend(() => screen.write("output of a command\n"));
  const lines = "  ────────  0/100 done · 2 running\n  slowest: file-1.md (5 s)";
  expect(screen.text).toBe(`before\nStopping.\noutput of a command\n${lines}`);
  await progress.stop();
  expect(screen.text).toBe("before\nStopping.\noutput of a command");
});

test("output without a final line break is not overwritten", async () => {
  const { screen, progress, pass } = watch();
  progress.suspend(() => screen.write("first"), false);
  await pass(100);
  expect(screen.text).toBe("first\n  ────────  0/100 done · 2 running");
  progress.suspend(() => screen.write("second"), false);
  expect(screen.text).toBe("first\nsecond\n  ────────  0/100 done · 2 running");
  await progress.stop();
  progress.suspend(() => screen.write("third"), false);
  progress.note("note");
  expect(screen.text).toBe("first\nsecond\nthird\nnote");
});

test("a terminal that became narrower is still cleared", async () => {
  const { screen, progress, pass } = watch();
  progress.note("before");
  progress.started(itemOf(1), 1);
  await pass(5000);
  screen.columns = 20;
  screen.reflow();
  expect(screen.text.split("\n").length).toBeGreaterThan(3);
  await progress.stop();
  expect(screen.text).toBe("before");
});

test("a terminal without a width counts as 80 columns", async () => {
  const { screen, pass } = watch({ columns: () => 0 });
  await pass(100);
  expect(screen.text).toBe("  ────────  0/100 done · 2 running");
});

test("a log gets a line after 10 s and then every 30 s", async () => {
  const { screen, store, progress, pass } = watch({
    isLive: false,
    paint: paintFor({ isTty: false, env: {} }),
  });
  await pass(9000);
  expect(screen.raw).toBe("");
  store.counts = { ...START, done: 50, ready: 48 };
  await pass(1000);
  expect(screen.raw).toBe("redrive: 50 of 100 done, 2 running, 5/s\n");
  await pass(29_000);
  store.counts = { ...START, done: 80, ready: 17, dead: 1 };
  await pass(1000);
  expect(screen.raw.split("\n")[1]).toBe("redrive: 80 of 100 done, 1 dead, 2 running, 1/s");
  await progress.stop();
  expect(screen.raw.split("\n")).toHaveLength(3);
});

test("a log reports a store failure at once, but not each time it returns", async () => {
  const { screen, progress, pass } = watch({ isLive: false });
  const full = new RedriveError("store_full", "The disk\nis full.");
  for (let times = 0; times < 5; times += 1) {
    progress.trouble(full);
    progress.recovered();
  }
  expect(screen.raw).toBe("redrive: waiting: The disk↵is full.\n");
  await pass(30_000);
  progress.trouble(full);
  expect(screen.raw.match(/^redrive: waiting/gm)).toHaveLength(2);
});

test("in a log other output is simply written", async () => {
  const { screen, progress, pass } = watch({ isLive: false });
  progress.suspend(() => screen.write("half"), false);
  progress.suspend(() => screen.write(" line\n"));
  await pass(0);
  await progress.stop();
  expect(screen.raw).toBe("half line\n");
});
