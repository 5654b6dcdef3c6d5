import { describe, expect, it } from "vitest";
import { letterText } from "../../src/cli/render/letter.ts";
import { paintFor } from "../../src/cli/render/text.ts";
import { momentsOf } from "../../src/dead-letter/history.ts";
import type { Letter } from "../../src/item/letter.ts";

const letter: Letter = {
  itemId: "order 7",
  itemData: { path: "order 7.json" },
  firstAttempt: Date.UTC(2026, 0, 1),
  lastAttempt: Date.UTC(2026, 0, 1, 0, 0, 5),
  failureCount: 1,
  failureHistory: [
    {
      attemptNumber: 1,
      timestamp: Date.UTC(2026, 0, 1, 0, 0, 5),
      errorType: { name: "PermissionError" },
      errorClass: "permanent",
      errorMessage: "convert failed with exit code 77: denied\u001b[31m",
      errorContext: ["opening the file"],
      agentId: "host:1/1",
      stepFailed: "command: convert 'order 7.json'",
      durationMs: 1200,
      exitCode: 77,
      stderrTail: Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join("\n"),
      log: "/home/ana/logs/1.log",
      evidence: [
        {
          path: "/tmp/shot.png",
          sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
          bytes: 20480,
          mediaType: "image/png",
          host: "robot-3",
          kept: "/home/ana/.redrive/evidence/9f/9f86",
        },
        { path: "/tmp/gone.png", host: "robot-3", missing: true },
        { path: "/srv/dumps", problem: "is a folder" },
        { path: "C:\\Screenshots\\error.jpg" },
      ],
    },
  ],
  errorSignature: "0123456789abcdef",
  errorPattern: "PermissionError::convert failed",
  reprocessEligible: false,
  manualReviewRequired: true,
  jobId: "job-1",
  queue: "job-1",
  state: "dead",
  reason: "permanent failure (PermissionError), not retried",
  revision: 1,
  redriveCount: 2,
};

const paint = paintFor({ isTty: false, env: {} });
const history = { moments: momentsOf(letter), events: [], groupCount: 4, group: null };
const view = { paint, columns: 100, history };

describe("a letter as text", () => {
  const text = letterText(letter, view);

  it("has what died, why, how often it was redriven, and who shares its group", () => {
    expect(text).toContain("2026-01-01T00:00:05.000Z: permanent failure (PermissionError), not retried");
    expect(text).toContain("0123456789abcdef, shared with 3 other letters");
    expect(text).toContain("Redriven  2 times");
    expect(text).toContain("needs manual review");
  });

  it("shows each attempt with its exit, context, evidence and log", () => {
    expect(text).toMatch(/#1 {2}2026-01-01T00:00:05.000Z {2}after 1.2 s {2}PermissionError {2}exit 77/);
    for (const part of ["opening the file", "evidence: /tmp/shot.png", "log: /home/ana/logs/1.log"]) {
      expect(text).toContain(part);
    }
  });

  it("pitfall 47: shows the evidence, its machine, and its copy", () => {
    const lines = text.split("\n").filter((line) => line.includes("evidence: "));
    expect(lines.map((line) => line.trim())).toEqual([
      "evidence: /tmp/shot.png (image/png, 20,480 bytes, sha256 9f86d081884c…, on robot-3, kept as /home/ana/.redrive/evidence/9f/9f86)",
      "evidence: /tmp/gone.png (missing, on robot-3)",
      "evidence: /srv/dumps (is a folder)",
      "evidence: C:\\Screenshots\\error.jpg",
    ]);
  });

  it("shows the end of long output and says that it is the end", () => {
    expect(text).toContain("stderr (last 15 lines)");
    expect(text).toContain("line 20");
    expect(text).not.toMatch(/line 5$/m);
  });

  it("offers complete commands that can be pasted", () => {
    expect(text).toContain("redrive dlq retry job-1 'order 7' --force");
    expect(text).toContain("redrive logs job-1 'order 7'");
  });

  it("lets no escape code of the data reach the terminal", () => {
    expect(text).not.toContain("\u001b");
  });

  it("offers the group, an edit and a discard", () => {
    for (const command of [
      "redrive dlq list --job job-1 --group 0123456789abcdef",
      "redrive dlq edit 'order 7' --job job-1",
      "redrive dlq discard 'order 7' --job job-1 --reason TEXT",
    ]) {
      expect(text).toContain(command);
    }
  });
});

describe("the history of a letter", () => {
  const [first] = letter.failureHistory;
  if (first === undefined) throw new Error("it has a failure");
  const at = (minute: number) => Date.UTC(2026, 0, 1, 0, minute);
  const told: Letter = {
    ...letter,
    itemData: { path: "new.json", size: 3 },
    revision: 2,
    failureHistory: [
      { ...first, timestamp: at(1) },
      { ...first, attemptNumber: 2, timestamp: at(2) },
      {
        ...first,
        attemptNumber: 3,
        timestamp: at(9),
        exitCode: 78,
        errorMessage: "another thing",
        stderrTail: "line 20\nsomething new",
      },
    ],
    amendments: [
      {
        revision: 2,
        at: at(5),
        author: "ada@host",
        note: "wrong path",
        before: { path: "old.json", size: 3 },
      },
    ],
    notes: [{ at: at(4), author: "bob@host", text: "first line\nsecond line" }],
  };
  const text = letterText(told, { paint, columns: 100 });
  const index = (part: string) => {
    expect(text).toContain(part);
    return text.indexOf(part);
  };

  it("is in chronological order, with authors", () => {
    const places = [
      "#1  ",
      "#2  ",
      "note by bob@host",
      "changed by ada@host (revision 2): wrong path",
      "#3  ",
    ].map(index);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(text).toContain("      second line");
  });

  it("shows a change of the data as the old and new values only", () => {
    expect(text).toContain('      - path: "old.json"\n      + path: "new.json"\n');
    expect(text).not.toContain("- size");
  });

  it("does not repeat a failure that equals the previous one", () => {
    expect(text).toContain("the same as #1");
    const history = text.slice(index("History"), index("Changed from #2 to #3"));
    expect(history.match(/denied/g)).toHaveLength(1);
  });

  it("shows what changed between the last two failures", () => {
    const changed = text.slice(index("Changed from #2 to #3"), index("stderr"));
    expect(changed).toContain("exit code: 77 → 78");
    expect(changed).toContain("+ something new");
  });

  it.each([
    ["done", "(resolved)", "redrive events job-1"],
    ["discarded", "(discarded)", "redrive dlq restore 'order 7' --job job-1"],
    ["ready", "(ready: being redriven)", "redrive ops"],
  ] as const)("a letter that is %s says so, and what can be done with it then", (state, word, command) => {
    const shown = letterText({ ...letter, state }, view);
    expect(shown).toContain(word);
    expect(shown).toContain(command);
    expect(shown).not.toContain("redrive dlq retry");
  });

  it("a poison letter needs --force", () => {
    const shown = letterText({ ...letter, reprocessEligible: true, poison: true }, view);
    expect(shown).toContain("poison");
    expect(shown).toContain("redrive dlq retry job-1 'order 7' --force");
  });
});
