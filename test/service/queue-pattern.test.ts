/** Names of queues with stars. */
import { expect, test } from "vitest";
import { matchesQueue } from "../../src/service/alert-rules.ts";

test.each([
  ["orders", "orders", true],
  ["orders", "orders-2", false],
  ["orders*", "orders-2", true],
  ["*-eu", "orders-eu", true],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["a*b*c", "axxbyyc", true],
  ["a*b*c", "axxcyyb", false],
  ["*ab*b", "ab", false],
  ["*", "", true],
  ["a.b", "axb", false],
  [`${"*a".repeat(30)}b`, "a".repeat(5000), false],
])("%s and %s: %s", (pattern, name, fits) => {
  expect(matchesQueue([pattern], [name])).toBe(fits);
});
