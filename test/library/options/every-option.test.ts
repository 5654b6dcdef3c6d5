/**
 * Every call of the library with options is tested by `describeOptions`, whose type demands a test for each option. This test
 * fails for a call that is missing there.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const LIBRARY = fileURLToPath(new URL("../../../src/library/", import.meta.url));
const TESTS = fileURLToPath(new URL("./", import.meta.url));

/** Calls whose options are checked elsewhere, and where. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  letters: "queue.letters and redrive.letters",
  listItems: "DlqManager, in bad-input.test.ts",
  exportItems: "DlqManager, in bad-input.test.ts",
  addFailedItem: "DlqManager, in bad-input.test.ts",
};

const filesIn = (folder: string, end: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(end))
    .map((file) => readFileSync(`${folder}${file}`, "utf8"));

/** `queue.${verb}` stands for all verbs. */
const generalised = (name: string) => name.replace(/\$\{\w+\}/g, "*");

it("each call that takes options has a test for each of them", () => {
  const calls = new Set<string>();
  for (const text of filesIn(LIBRARY, ".ts"))
    for (const [, caller = ""] of text.matchAll(
      /caller: [`"]([^`"]+)[`"],\s*name: "(?:options|filter|query|request|failure)"/g,
    ))
      calls.add(generalised(caller));
  calls.add("redrive.receipts").add("target.send"); // checked by their classes
  const tested = new Set<string>(Object.keys(ELSEWHERE));
  for (const text of filesIn(TESTS, ".test.ts"))
    for (const [, name = ""] of text.matchAll(/describeOptions<.*?>\(\s*[`"]([^`"]+)[`"]/gs))
      tested.add(generalised(name));
  expect(calls.size).toBeGreaterThan(20);
  const isLike = (name: string, pattern: string) =>
    new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "\\w+")}$`).test(name);
  const isTested = (call: string) => [...tested].some((name) => isLike(name, call) || isLike(call, name));
  expect([...calls].filter((call) => !isTested(call))).toEqual([]);
});
