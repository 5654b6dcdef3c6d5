/** The words that select letters: understood, or refused. Nothing that is not understood ever means "all". */
import { describe, expect, it, test } from "vitest";
import { filterFrom, jobFrom, type SelectionFlags } from "../../src/cli/selection.ts";
import { openMemoryEngine } from "../../src/engines/memory/open.ts";

describe("a selection", () => {
  test("is the filter that its words say", () => {
    const flags = {
      group: "160a1b209e7483b4",
      type: ["timeout,CommandFailed"],
      class: ["Outage"],
      olderThan: "2h",
      eligible: true,
    };
    expect(filterFrom(flags)).toEqual({
      signature: "160a1b209e7483b4",
      types: ["Timeout", "CommandFailed"],
      classes: ["outage"],
      olderThanMs: 7_200_000,
      eligible: true,
    });
    expect(filterFrom({})).toEqual({});
  });

  const WRONG: readonly SelectionFlags[] = [
    { group: "" },
    { group: "160a1b20" },
    { type: ["Nonsense"] },
    { type: ["Timeout,"] },
    { type: [""] },
    { class: ["permanent,"] },
    { class: ["perm"] },
  ];

  it("invariant 10: a filter that cannot be understood is an error, never everything", () => {
    for (const flags of WRONG) {
      expect(() => filterFrom(flags), JSON.stringify(flags)).toThrow(
        expect.objectContaining({ code: "filter_invalid" }),
      );
    }
    expect(() => filterFrom({ olderThan: "yesterday" })).toThrow(expect.objectContaining({ code: "usage" }));
  });

  test("a signature that is none is told where signatures are shown", () => {
    expect(() => filterFrom({ group: "x" })).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("redrive dlq inspect") }),
    );
  });

  test("two jobs that contradict are refused", async () => {
    const engine = openMemoryEngine({});
    await expect(jobFrom(engine, "one", { job: "two" })).rejects.toMatchObject({ code: "usage" });
    await engine.close();
  });
});
