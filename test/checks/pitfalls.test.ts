/** Every known way of losing a letter, or of misleading those who run queues, has a test through the real command line, with its number in the title. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./sources.ts";

/** Those that concern letters, queues and workers; the numbers are those of the list that the titles tell one by one. */
const NUMBERS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 17, 24, 25, 26, 31],
  ...[40, 41, 42, 43, 44, 45, 46, 47, 48],
  ...[49, 50, 51, 52, 53, 54, 55, 56, 58, 59],
];

const folder = join(ROOT, "test/journeys");
const journeys = readdirSync(folder)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => readFileSync(join(folder, name), "utf8"));

test.each(NUMBERS)("the pitfall with number %i is tried in a journey", (number) => {
  const title = new RegExp(`\\b(test|it|describe)\\(\\s*"pitfall ${number}: \\S`);
  expect(journeys.filter((text) => title.test(text)).length).toBeGreaterThan(0);
});
