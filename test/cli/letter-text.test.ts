import { describe, expect, it } from "vitest";
import { letterText } from "../../src/cli/letter-text.ts";
import { paintFor } from "../../src/cli/paint.ts";
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
      evidence: ["/tmp/shot.png"],
    },
  ],
  errorSignature: "0123456789abcdef",
  errorPattern: "PermissionError::convert failed",
  reprocessEligible: false,
  manualReviewRequired: true,
  jobId: "job-1",
  queue: "job-1",
  state: "dead",
  reason: "permanent: PermissionError",
  revision: 1,
  redriveCount: 2,
};

const view = { paint: paintFor({ isTty: false, env: {} }), columns: 100, shared: 3 };

describe("a letter for a person", () => {
  const text = letterText(letter, view);

  it("says what died, why, how often it was sent back, and who shares it", () => {
    expect(text).toContain("2026-01-01T00:00:05.000Z: permanent: PermissionError");
    expect(text).toContain("0123456789abcdef, shared with 3 other letters");
    expect(text).toContain("Redriven  2 times");
    expect(text).toContain("a person has to look first");
  });

  it("shows each attempt with its exit, context, evidence and log", () => {
    expect(text).toMatch(/#1 {2}2026-01-01T00:00:05.000Z {2}after 1.2 s {2}PermissionError {2}exit 77/);
    for (const part of ["opening the file", "evidence: /tmp/shot.png", "log: /home/ana/logs/1.log"]) {
      expect(text).toContain(part);
    }
  });

  it("shows the end of long output and says that it is the end", () => {
    expect(text).toContain("stderr (last 15 lines)");
    expect(text).toContain("line 20");
    expect(text).not.toMatch(/line 5$/m);
  });

  it("offers commands that can be typed, with what they need", () => {
    expect(text).toContain("redrive dlq retry job-1 'order 7' --force");
    expect(text).toContain("redrive logs job-1 'order 7'");
  });

  it("lets no escape code of the data reach the terminal", () => {
    expect(text).not.toContain("\u001b");
  });
});
