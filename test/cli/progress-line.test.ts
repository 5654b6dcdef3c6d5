import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { liveLines, type ProgressView, plainLine } from "../../src/cli/render/progress-line.ts";
import { type Paint, paintFor, secondsText, width } from "../../src/cli/render/text.ts";

const PLAIN = paintFor({ isTty: false, env: {} });

const COUNTS = { total: 2000, ready: 1578, leased: 8, held: 0, done: 412, dead: 2, skipped: 0 };

function viewOf(change: Partial<ProgressView> = {}): ProgressView {
  return {
    counts: COUNTS,
    isTotalKnown: true,
    retrying: 3,
    rate: { perSecond: 181, isSteady: true },
    slowest: null,
    agents: [],
    waiting: null,
    label: "convert-7h2k9m4x",
    ...change,
  };
}

function linesOf(view: ProgressView, columns = 80, paint: Paint = PLAIN): string[] {
  return liveLines(view, { columns, paint }).map((line) => line.painted);
}

describe("on a terminal", () => {
  test("80 columns show a bar and every counter", () => {
    expect(linesOf(viewOf())).toEqual([
      "  ━───────  412/2,000 done · 8 running · 3 retrying · 2 dead · 181/s · ETA 9 s",
    ]);
  });

  test("40 columns keep the most important parts", () => {
    expect(linesOf(viewOf(), 40)).toEqual(["  412/2,000 done · 2 dead · ETA 9 s"]);
  });

  test("a wide terminal has room for the job and a longer bar", () => {
    expect(linesOf(viewOf(), 140)).toEqual([
      "  ━━━━────────────────────  convert-7h2k9m4x · 412/2,000 done · 8 running · 3 retrying · 2 dead · 181/s · ETA 9 s",
    ]);
  });

  test("while the input is still being read there is neither a bar nor an ETA", () => {
    const counts = { ...COUNTS, total: 1200, ready: 780, leased: 6 };
    expect(linesOf(viewOf({ counts, isTotalKnown: false }))).toEqual([
      "  412 done of 1,200 so far · 6 running · 3 retrying · 2 dead · 181/s",
    ]);
  });

  test("an unsteady rate has no ETA", () => {
    expect(linesOf(viewOf({ rate: { perSecond: 181, isSteady: false } }))[0]).toMatch(/ · 181\/s$/);
    expect(linesOf(viewOf({ rate: null }))[0]).toMatch(/ · 2 dead$/);
  });

  test("no more items are retrying than are ready", () => {
    const counts = { ...COUNTS, ready: 0 };
    expect(linesOf(viewOf({ counts }))[0]).not.toContain("retrying");
  });

  test("the bar is full only when everything has ended", () => {
    const last = { ...COUNTS, ready: 0, leased: 1, done: 1997 };
    expect(linesOf(viewOf({ counts: last }))[0]).toMatch(/^ {2}━{7}─ /);
    expect(linesOf(viewOf({ counts: { ...last, leased: 0, done: 1998 } }))[0]).toMatch(/^ {2}━{8} /);
  });

  test("a bar with deaths has a red end, however few they are", () => {
    const marks = { ...PLAIN, red: (text: string) => text.replaceAll("━", "x") };
    const counts = { ...COUNTS, ready: 1000, leased: 0, done: 998 };
    expect(linesOf(viewOf({ counts }), 80, marks)[0]).toMatch(/^ {2}━━━x──── /);
  });

  test("the slowest item has its own line once it is slow", () => {
    const slowest = { name: "src/legacy/huge.md", attempt: 2, elapsedMs: 34_000 };
    expect(linesOf(viewOf({ slowest }))[1]).toBe("  slowest: src/legacy/huge.md (attempt 2, 34 s)");
    expect(linesOf(viewOf({ slowest: { ...slowest, attempt: 1 } }))[1]).toBe(
      "  slowest: src/legacy/huge.md (34 s)",
    );
    expect(linesOf(viewOf({ slowest: { ...slowest, elapsedMs: 2000 } }))).toHaveLength(1);
  });

  test("a long name is cut and its time is not", () => {
    const slowest = { name: `src/${"deep/".repeat(40)}file.md`, attempt: 1, elapsedMs: 185_000 };
    expect(linesOf(viewOf({ slowest }), 40)[1]).toBe("  slowest: src/deep/deep/deep… (3m 05s)");
  });

  test("the reason for a wait precedes the slowest item", () => {
    const slowest = { name: "a", attempt: 1, elapsedMs: 34_000 };
    const waiting = "The store /tmp/x.db cannot be written: the disk is full.";
    expect(linesOf(viewOf({ slowest, waiting }))[1]).toBe(`  waiting: ${waiting}`);
  });

  describe("agents", () => {
    const agent = (name: string, change: Partial<ProgressView["agents"][number]> = {}) => ({
      name,
      attempt: 1,
      elapsedMs: 3000,
      step: "step 1 of 2: shell: npm test",
      ...change,
    });

    test("have one line each, with aligned steps", () => {
      const agents = [agent("src/a.ts", { elapsedMs: 65_000 }), agent("README.md", { attempt: 2 })];
      expect(linesOf(viewOf({ agents, attemptsMax: 3 })).slice(1)).toEqual([
        "  src/a.ts   step 1 of 2: shell: npm test  (1m 05s)",
        "  README.md  step 1 of 2: shell: npm test  (attempt 2 of 3, 3 s)",
      ]);
    });

    test("of a redriven item do not show more attempts than allowed", () => {
      const agents = [agent("a", { attempt: 4 })];
      expect(linesOf(viewOf({ agents, attemptsMax: 3 }))[1]).toMatch(/\(attempt 4, 3 s\)$/);
    });

    test("beyond eight are counted", () => {
      const agents = Array.from({ length: 11 }, (_, index) => agent(`item-${index}`));
      const lines = linesOf(viewOf({ agents })).slice(1);
      expect(lines).toHaveLength(9);
      expect(lines[8]).toBe("  and 3 more");
    });

    test("with long names and steps keep their time, and fit", () => {
      const agents = [agent("deep/".repeat(40), { step: "step 1 of 2: shell: ".padEnd(300, "x") })];
      const [line = ""] = linesOf(viewOf({ agents }), 60).slice(1);
      expect(line).toMatch(/^ {2}deep\/deep\/deep\/dee… {2}step 1 of 2: shell: x+… {2}\(3 s\)$/);
      expect(width(line)).toBe(59);
    });
  });

  test("before the first item there is nothing to count", () => {
    const none = { ...COUNTS, total: 0, ready: 0, leased: 0, done: 0, dead: 0 };
    expect(linesOf(viewOf({ counts: none, isTotalKnown: false, rate: null, retrying: 0 }))).toEqual([]);
  });

  test("after the last item there is no rate and no running item", () => {
    const over = { ...COUNTS, ready: 0, leased: 0, done: 1998 };
    expect(linesOf(viewOf({ counts: over, retrying: 0 }))).toEqual(["  ━━━━━━━━  1,998/2,000 done · 2 dead"]);
  });

  test("without an answer of the store only the reason for the wait is shown", () => {
    expect(linesOf(viewOf({ counts: null }))).toEqual([]);
    expect(linesOf(viewOf({ counts: null, waiting: "locked" }))).toEqual(["  waiting: locked"]);
  });

  test("the data of an item cannot control the terminal", () => {
    const slowest = { name: "a\x1b[2J\nb\x07", attempt: 1, elapsedMs: 34_000 };
    const lines = linesOf(viewOf({ slowest, label: "\x1b]0;x\x07" }), 140);
    expect(lines.join("")).not.toMatch(/\p{Cc}/u);
    expect(lines[1]).toContain("a␛[2J↵b␇");
  });

  test.each([1, 5, 20, 40, 60, 80, 100, 120, 200])("nothing is wider than %i columns", (columns) => {
    const slowest = { name: "日本語".repeat(99), attempt: 12, elapsedMs: 34_000 };
    const counts = { ...COUNTS, total: 1_234_567, ready: 1_000_000, dead: 12_345, skipped: 6789 };
    const agents = [{ ...slowest, step: "step 1 of 2: shell: 日本語" }];
    const views = [viewOf({ slowest, counts }), viewOf({ slowest, counts, agents, attemptsMax: 20 })];
    for (const { text } of views.flatMap((view) => liveLines(view, { columns, paint: PLAIN }))) {
      expect(width(text)).toBeLessThan(Math.max(3, columns));
    }
  });

  test("colours change nothing but the colour", () => {
    const view = viewOf({ slowest: { name: "a", attempt: 1, elapsedMs: 9000 } });
    for (const { text, painted } of liveLines(view, {
      columns: 140,
      paint: paintFor({ isTty: true, env: {} }),
    })) {
      expect(painted).not.toBe(text);
      expect(stripVTControlCharacters(painted)).toBe(text);
    }
  });
});

describe("in a log", () => {
  test("a line has everything in words", () => {
    expect(plainLine(viewOf())).toBe("redrive: 412 of 2,000 done, 2 dead, 3 retrying, 8 running, 181/s");
  });

  test("zero counts are omitted, and the reason for a wait is included", () => {
    const counts = { ...COUNTS, dead: 0, total: 1200, skipped: 4 };
    const view = viewOf({
      counts,
      isTotalKnown: false,
      retrying: 0,
      rate: null,
      waiting: "the disk\nis full",
    });
    expect(plainLine(view)).toBe(
      "redrive: 412 done of 1,200 so far, 4 skipped, 8 running, waiting: the disk↵is full",
    );
  });
});

test("a time that changes constantly has whole seconds", () => {
  expect([0, 1499, 34_000, 59_400, 59_600, 185_000, 7_620_000].map(secondsText)).toEqual([
    "1 s",
    "1 s",
    "34 s",
    "59 s",
    "1m 00s",
    "3m 05s",
    "2h 07m",
  ]);
});

test("an agent's last action and cost follow its step, and the last failure is the last line", () => {
  const step = "step 1 of 2: claude: fix src/a.ts";
  const agent = { name: "a", attempt: 1, elapsedMs: 34_000, step, activity: "Edit src/a.ts · $0.12" };
  const view = viewOf({ agents: [agent], lastFailure: "b: cargo test failed" });
  const lines = liveLines(view, { columns: 100, paint: PLAIN }).map(({ text }) => text);
  expect(lines.at(-2)).toBe(`  a  ${step} · Edit src/a.ts · $0.12  (34 s)`);
  expect(lines.at(-1)).toBe("  last failure: b: cargo test failed");
  for (const columns of [20, 40, 60])
    for (const { text } of liveLines(view, { columns, paint: PLAIN }))
      expect(width(text)).toBeLessThan(columns);
});
