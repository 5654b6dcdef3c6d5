import { describe, expect, it } from "vitest";
import { countOption, rateOption } from "../../src/cli/option.ts";

describe("numbers on the command line", () => {
  it("a count is a whole number of at least the least", () => {
    expect(countOption("--jobs", "8", 1)).toBe(8);
    expect(countOption("--retries", "0", 0)).toBe(0);
    expect(countOption("--jobs", undefined, 1)).toBeUndefined();
    for (const text of ["0", "-1", "1.5", "eight", "", " 3", "1e3", "99999999999999999999"]) {
      expect(() => countOption("--jobs", text, 1)).toThrow(`--jobs: "${text}"`);
    }
  });

  it("a rate is a share from 0 to 1", () => {
    expect(rateOption("--failure-threshold", "0.25")).toBe(0.25);
    expect(rateOption("--failure-threshold", ".5")).toBe(0.5);
    expect(rateOption("--failure-threshold", "1")).toBe(1);
    for (const text of ["1.1", "-0.1", "20%", ""]) {
      expect(() => rateOption("--failure-threshold", text)).toThrow("share from 0 to 1");
    }
  });
});
