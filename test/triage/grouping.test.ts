/** Rules that name groups: which failures they fit, and what their groups' signatures depend on. */
import { describe, expect, test } from "vitest";
import type { Failure } from "../../src/item/failure.ts";
import {
  type GroupRule,
  groupOf,
  ruleFinder,
  ruleSignature,
  splitSignature,
} from "../../src/triage/grouping.ts";
import { ALGORITHM } from "../../src/triage/signature.ts";
import { failureOf } from "../support/settlements.ts";

const LEASE = { ref: 1, attempt: 1 };
const failure = (change: Partial<Failure> = {}) =>
  failureOf(LEASE, { errorMessage: "Disk FULL on /dev/sda1", stepFailed: "copy", ...change });
const fits = (match: GroupRule["match"], given = failure()) =>
  ruleFinder([{ name: "rule", match }])(given) !== undefined;

describe("a rule matches", () => {
  test.each<[string, GroupRule["match"], GroupRule["match"]]>([
    ["by type", { types: ["Timeout", "CommandFailed"] }, { types: ["Timeout"] }],
    ["by class", { classes: ["unknown"] }, { classes: ["outage"] }],
    ["by step", { steps: ["copy"] }, { steps: ["cop"] }],
    ["by a text in any case", { text: "disk full" }, { text: "disk empty" }],
    ["by a pattern", { pattern: "FULL on /dev/sd[a-z]\\d" }, { pattern: "full on" }],
  ])("%s", (_, good, bad) => {
    expect(fits(good)).toBe(true);
    expect(fits(bad)).toBe(false);
  });

  test("only if all its conditions match", () => {
    expect(fits({ text: "disk", types: ["CommandFailed"], steps: ["copy"] })).toBe(true);
    expect(fits({ text: "disk", types: ["CommandFailed"], steps: ["move"] })).toBe(false);
  });

  test("the message only, not the output around it", () => {
    expect(fits({ text: "warning" }, failure({ stderrTail: "warning: old" }))).toBe(false);
  });
});

describe("the group of a failure", () => {
  const rules: readonly GroupRule[] = [
    { name: "storage", match: { text: "disk" } },
    { name: "full", match: { text: "full" } },
  ];

  test("is that of the first matching rule, with the rule's name as its pattern", () => {
    const group = {
      signature: ruleSignature("storage"),
      pattern: "storage",
      algorithm: ALGORITHM,
      rule: "storage",
    };
    expect(groupOf(failure(), rules)).toEqual(group);
    expect(groupOf(failure({ errorMessage: "full house" }), rules).pattern).toBe("full");
  });

  test("is the algorithm's if no rule matches", () => {
    const one = groupOf(failure({ errorMessage: "no room for 'apple'" }), rules);
    const other = groupOf(failure({ errorMessage: "no room for 'melon'" }), rules);
    expect(one.rule).toBeUndefined();
    expect(one).toEqual(other);
  });

  test("that people created has its own signature, by name, or by origin and text, ignoring case", () => {
    expect(ruleSignature("a")).toMatch(/^[0-9a-f]{16}$/);
    expect(
      new Set([ruleSignature("a"), ruleSignature("b"), splitSignature("a", "x"), splitSignature("b", "x")])
        .size,
    ).toBe(4);
    expect(splitSignature("a", "X y")).toBe(splitSignature("a", "x Y"));
    expect(splitSignature("a", "x")).not.toBe(splitSignature("a", "y"));
  });
});
