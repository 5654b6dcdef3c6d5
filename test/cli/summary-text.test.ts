import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { type SummaryOptions, summaryText } from "../../src/cli/render/job-summary.ts";
import { paintFor, width } from "../../src/cli/render/text.ts";
import { NO_LETTERS } from "../../src/dead-letter/stats.ts";
import type { JobSummary } from "../../src/queue/job-summary.ts";

const FINE: JobSummary = {
  jobId: "convert-7h2k9m4x",
  name: "convert",
  kind: "map",
  status: "completed",
  total: 400,
  succeeded: 400,
  dead: 0,
  skipped: 0,
  discarded: 0,
  remaining: 0,
  attempts: 400,
  durationMs: 12_345,
  startedAt: 0,
  isResumed: false,
  groups: [],
  letters: NO_LETTERS,
};

function groupsOf(...groups: (readonly [count: number, pattern: string])[]): JobSummary["groups"] {
  return groups.map(([count, pattern], index) => ({
    signature: `${index}`.padStart(16, "0"),
    pattern,
    count,
  }));
}

function textOf(change: Partial<JobSummary>, options: Partial<SummaryOptions> = {}): string {
  const paint = paintFor({ isTty: false, env: {} });
  return summaryText({ ...FINE, ...change }, { paint, columns: 80, ...options });
}

const DEATHS: Partial<JobSummary> = {
  total: 1400,
  succeeded: 361,
  dead: 1037,
  skipped: 2,
  groups: groupsOf(
    [12, "Timeout::cargo test timed out after <dur>"],
    [1021, "CommandFailed::cargo test failed with exit code 101: error[E0308]: mismatched types"],
    [4, "CommandFailed::cargo test failed with exit code 101: error[E0425]: cannot find value"],
  ),
};

test("a job without failures is one line", () => {
  expect(textOf({})).toBe("400 of 400 succeeded · 12.3 s · 32/s");
  expect(textOf({ total: 1, succeeded: 1, durationMs: 20 })).toBe("1 of 1 succeeded · 20 ms");
});

test("discarded letters are mentioned, and count as ended", () => {
  const text = textOf({ succeeded: 390, discarded: 10 });
  expect(text).toBe("390 of 400 succeeded · 10 discarded · 12.3 s · 32/s");
});

test("a resumed job has the share and the rate of its latest run", () => {
  expect(textOf({}, { finishedInRun: 120 })).toBe("400 of 400 succeeded · 120 in this run · 12.3 s · 9.7/s");
  expect(textOf({}, { finishedInRun: 0 })).toBe("400 of 400 succeeded · none in this run · 12.3 s");
});

test("a resumed job has no rate for a reader that did not see the run", () => {
  expect(textOf({ isResumed: true })).toBe("400 of 400 succeeded · latest run 12.3 s");
});

test("an input without items is reported as such", () => {
  expect(textOf({ total: 0, succeeded: 0 })).toBe("Nothing to do: the input has no items.");
});

test("deaths have their causes, largest first, and the next commands", () => {
  expect(textOf(DEATHS, { sampleItemId: "src/a.md" })).toBe(
    `361 of 1,400 succeeded · 1,037 dead · 2 skipped · 12.3 s · 113/s

3 different failures:
  CommandFailed · cargo test · exit 101
    1,021  error[E0308]: mismatched types
        4  error[E0425]: cannot find value
  Timeout · cargo test
       12  cargo test timed out after <dur>

Next:
  redrive dlq list --job convert-7h2k9m4x   list the letters
  redrive dlq inspect src/a.md              inspect one of them
  redrive dlq retry convert-7h2k9m4x        retry them`,
  );
});

test("40 columns cut the causes and keep the commands complete", () => {
  expect(textOf(DEATHS, { columns: 40 })).toBe(
    `361 of 1,400 succeeded · 1,037 dead
2 skipped · 12.3 s · 113/s

3 different failures:
  CommandFailed · cargo test · exit 101
    1,021  error[E0308]: mismatched typ…
        4  error[E0425]: cannot find va…
  Timeout · cargo test
       12  cargo test timed…after <dur>

Next:
  redrive dlq list --job convert-7h2k9m4x
  redrive dlq retry convert-7h2k9m4x`,
  );
});

test("one death is written in the singular", () => {
  const text = textOf({ total: 2, succeeded: 1, dead: 1, groups: groupsOf([1, "Timeout::x"]) });
  expect(text).toContain("1 of 2 succeeded · 1 dead · 12.3 s\n\nThe failure:\n  Timeout\n    1  x\n");
  expect(text).toContain("retry it");
});

test("many deaths of one cause are summarised", () => {
  expect(textOf({ dead: 7, succeeded: 393, groups: groupsOf([7, "Timeout::x"]) })).toContain(
    "All with the same failure:\n  Timeout\n    7  x\n",
  );
});

test.each([
  [6, "and 1 more group"],
  [9, "and 4 more groups"],
])("of %i causes five are shown", (causes, more) => {
  const groups = groupsOf(
    ...Array.from({ length: causes }, (_, index) => [20 - index, `Unknown::cause ${index}`] as const),
  );
  const lines = textOf({ dead: 99, groups }).split("\n");
  expect(lines.filter((line) => line.includes("cause "))).toHaveLength(5);
  expect(lines).toContain(`  ${more}`);
});

test("an interrupted job has the number of remaining items and the command that resumes it", () => {
  expect(textOf({ status: "interrupted", succeeded: 122, remaining: 278 })).toBe(
    `Interrupted.
122 of 400 succeeded · 278 remain · 12.3 s · 9.9/s

Next:
  redrive resume convert-7h2k9m4x   resume: 278 remain`,
  );
  expect(textOf({ status: "interrupted", succeeded: 399, remaining: 1 })).toContain("resume: 1 remains");
});

test("an interrupted job with unread input can be resumed though nothing remains", () => {
  expect(textOf({ status: "interrupted" })).toMatch(/redrive resume convert-7h2k9m4x {3}resume$/);
});

test("a stopped job has the reason", () => {
  const stopReason = "5 items died, and max_failures is 5";
  const stopped = { ...DEATHS, status: "stopped", remaining: 3 } as const;
  expect(textOf(stopped, { stopReason })).toMatch(/^Stopped: 5 items died, and max_failures is 5\.\n361 of/);
  expect(textOf(stopped, { stopReason, columns: 30 })).toMatch(
    /^Stopped: 5 items died, and\nmax_failures is 5\.\n/,
  );
  expect(textOf({ ...stopped, status: "failed" }, { stopReason: "It broke." })).toMatch(
    /^Failed: It broke\.\n/,
  );
  expect(textOf(stopped)).toMatch(/redrive resume .*resume: 3 remain\n.*dlq list.*\n.*dlq retry/);
});

test("a workflow's letters are retried by resume, which also reduces and merges", () => {
  const dead = { total: 2, succeeded: 1, dead: 1, groups: groupsOf([1, "Timeout::x"]) };
  const text = textOf({ ...dead, kind: "workflow" });
  expect(text).toMatch(/redrive resume convert-7h2k9m4x +retry it, and finish the job$/);
  expect(text).not.toContain("dlq retry");
  const both = textOf({ ...dead, kind: "workflow", remaining: 1 });
  expect(both.match(/redrive resume.*/g)).toEqual([
    expect.stringMatching(/ {2}resume: 1 remains; retry it$/),
  ]);
  const stopped = textOf({ ...dead, kind: "workflow", status: "stopped", remaining: 3 });
  expect(stopped.match(/redrive resume/g)).toHaveLength(1);
});

test("a running job is not offered to be resumed or retried", () => {
  const text = textOf({ ...DEATHS, status: "running", remaining: 9 });
  expect(text).toMatch(/^Running\.\n/);
  expect(text).toContain("redrive dlq list --job convert-7h2k9m4x");
  expect(text).not.toMatch(/redrive (resume|dlq retry)/);
});

describe("data from outside", () => {
  test("is cleaned for the terminal", () => {
    const groups = groupsOf([2, "Unknown::\x1b[2Jboom\x07\nnext"]);
    const text = textOf({ dead: 2, status: "stopped", groups }, { stopReason: "\x1b[31mred" });
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(text).toContain("  Unknown\n    2  ␛[2Jboom␇↵next");
  });

  test("an item's id is quoted for the shell, or its command is omitted", () => {
    const inspect = (sampleItemId: string) =>
      /redrive dlq inspect (.*?) {3}/.exec(textOf(DEATHS, { sampleItemId }))?.[1];
    expect(inspect("it's $(a).md")).toBe("'it'\\''s $(a).md'");
    expect(inspect("-rf")).toBeUndefined();
    expect(inspect("a\x1b[2J")).toBeUndefined();
    expect(inspect("x y".repeat(99))).toBeUndefined();
  });

  test.each([40, 60, 80, 120])("fits into %i columns", (columns) => {
    const groups = groupsOf([1234, "Unknown::日本語のエラー".repeat(20)], [1, "x".repeat(300)]);
    const text = textOf(
      { ...DEATHS, status: "stopped", remaining: 5, groups },
      { columns, stopReason: "so it is ".repeat(20) },
    );
    const isCommand = (line: string) => line.startsWith("  redrive ");
    for (const line of text.split("\n").filter((line) => !isCommand(line))) {
      expect(width(line)).toBeLessThanOrEqual(columns);
    }
  });
});

test("colours change nothing but the colour", () => {
  const paint = paintFor({ isTty: true, env: {} });
  const painted = textOf(DEATHS, { paint });
  expect(painted).not.toBe(textOf(DEATHS));
  expect(stripVTControlCharacters(painted)).toBe(textOf(DEATHS));
});

describe("known groups", () => {
  const groups = groupsOf([5, "Timeout::no answer"], [3, "CommandFailed::known trouble"]);
  const dead = { dead: 8, total: 8, succeeded: 0 };
  const ignored = groups.map((group, index) => ({
    ...group,
    state: index === 1 ? ("ignored" as const) : ("open" as const),
  }));

  test("an ignored one is counted, and not shown", () => {
    const text = textOf({ ...dead, groups: ignored });
    expect(text).toContain("All with the same failure:\n  Timeout\n    5  no answer\n");
    expect(text).toContain("3 more in an ignored group: redrive groups list --state ignored");
    expect(text).not.toContain("known trouble");
    expect(text).toContain("redrive dlq retry");
  });

  test("if all are ignored, there is no next step", () => {
    const text = textOf({
      ...dead,
      groups: ignored.map((group) => ({ ...group, state: "ignored" as const })),
    });
    expect(text).toContain("8 in 2 ignored groups: redrive groups list --state ignored");
    expect(text).not.toContain("Next:");
  });

  test("a regression is marked", () => {
    expect(
      textOf({
        ...dead,
        groups: [{ ...groups[0], count: 8, isRegression: true } as (typeof groups)[number]],
      }),
    ).toContain("  8  regression: no answer");
  });

  test("an earlier fix is one line, and its command is never cut", () => {
    const fix = {
      at: 0,
      kind: "requeue",
      count: 9,
      operationId: "op-x",
      author: "ann",
      waitedMs: 300_000,
    } as const;
    const fixedBefore = { signature: "0123456789abcdef", count: 5, fix };
    const text = textOf({ ...dead, groups, fixedBefore }, { columns: 200 });
    expect(text).toContain(
      "5 of these were fixed before by retry op-x by ann unchanged, 5m 00s after they died: redrive groups show 0123456789abcdef\n",
    );
    expect(textOf({ ...dead, groups, fixedBefore }, { columns: 60 })).toMatch(
      /by retry op-x by ann.*…: redrive groups show 0123456789abcdef\n/,
    );
  });
});
