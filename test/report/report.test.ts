/** The report of a job in each format: what is in it, and that texts of items are never markup. */
import { describe, expect, test } from "vitest";
import { NO_LETTERS } from "../../src/dead-letter/stats.ts";
import type { JobReport, ReportItem } from "../../src/report/read-report.ts";
import { reportHtml, reportMarkdown } from "../../src/report/report-text.ts";

const HOSTILE = "<script>alert(1)</script> | @all #1 `x` **b**";

function reportOf(items: readonly ReportItem[], message = "boom"): JobReport {
  const job = { id: "j-1", name: "j", kind: "workflow", status: "completed", startedAt: 0, createdAt: 0 };
  const counts = { total: items.length + 1, succeeded: items.length, dead: 1, skipped: 0, discarded: 0 };
  return {
    job: job as unknown as JobReport["job"],
    summary: {
      ...{ jobId: "j-1", name: "j", kind: "workflow", status: "completed", ...counts, remaining: 0 },
      ...{ attempts: 2, durationMs: 61_000, startedAt: 0, isResumed: false, groups: [], letters: NO_LETTERS },
      usage: { costUsd: 1.5, inputTokens: 1200, outputTokens: 34, turns: 7 },
    },
    changes: { files: 3, insertions: 20, deletions: 1 },
    items,
    failures: [
      {
        ...{ signature: "s", title: message, location: "npm test · exit 1", count: 12 },
        items: [{ itemId: "bad", name: "bad", message: "its own message" }],
      },
    ],
  };
}

const item = (name: string): ReportItem => ({
  ...{ itemId: name, name, commit: "0123456789abcdef", usage: { costUsd: 0.25 } },
  changes: { files: 1, insertions: 2, deletions: 0 },
});

test("Markdown has the totals, the items and the causes", () => {
  expect(reportMarkdown(reportOf([item("src/a.ts")]))).toMatchInlineSnapshot(`
    "## j: 1 of 2 items done

    Job \`j-1\` · completed · 1m 01s · $1.50 · 1,234 tokens · 7 turns

    **Items:** 1 done, 1 failed. **Changes:** 3 files, +20 −1.

    ### Done

    | item | changes | cost | commit |
    | --- | --- | --- | --- |
    | \`src/a.ts\` | 1 file, +2 −0 | $0.25 | \`0123456789\` |

    ### Failed

    - **12 items:** \`boom\` (\`npm test · exit 1\`)
      - \`bad\`: \`its own message\`
      - … and 11 more

    To see why and to try them again:

    \`\`\`
    redrive dlq list --job j-1
    redrive dlq retry j-1
    \`\`\`
    "
  `);
});

describe("texts of items", () => {
  test("stay code in Markdown, also in a table", () => {
    const text = reportMarkdown(reportOf([item(HOSTILE)], HOSTILE));
    const rows = text.split("\n").filter((line) => line.includes("script"));
    expect(rows.length).toBeGreaterThan(1);
    for (const row of rows) expect(row).toMatch(/`` <script>.*`x`.* ``/);
    expect(rows.find((row) => row.startsWith("|"))).toContain("\\| @all");
  });

  test("are escaped in HTML", () => {
    const page = reportHtml(reportOf([item(HOSTILE)], HOSTILE));
    expect(page).not.toContain("<script>");
    expect(page).toContain("&lt;script&gt;");
  });
});

test("a long list is cut and folded, so that it fits into a pull request", () => {
  const items = Array.from({ length: 1000 }, (_, index) => item(`${"long/".repeat(60)}${index}`));
  const text = reportMarkdown(reportOf(items, "x".repeat(5000)));
  expect(text.length).toBeLessThan(65_536);
  expect(text).toContain("<summary>1000 items done</summary>");
  expect(text).toContain("… and 800 more.");
});
