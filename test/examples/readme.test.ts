/** What the README shows is what happens: its example is run block by block, and its library code is the example's. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ExampleShell } from "./shell.ts";

const ROOT = join(import.meta.dirname, "../..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

interface Step {
  readonly script: string;
  readonly shown: string;
}

/** An `sh` block and the `text` block that follows it. */
function stepsOf(text: string): Step[] {
  const pairs = text.matchAll(/```sh\n(.*?)```(?:(?!```).)*```text\n(.*?)```/gs);
  return [...pairs].map(([, script = "", shown = ""]) => ({ script, shown }));
}

it("the example prints what the README shows", () => {
  const steps = stepsOf(readme);
  expect(steps).toHaveLength(readme.match(/```sh\n/g)?.length ?? -1);
  expect(steps.length).toBeGreaterThan(2);
  const shell = new ExampleShell();
  try {
    const codes = steps.map(({ script, shown }) => {
      const { exitCode, stdout } = shell.run(`{ ${script}} 2>&1`);
      expect(essence(stdout)).toEqual(essence(shown));
      return exitCode;
    });
    expect(codes).toEqual([3, 0, 0]);
  } finally {
    shell.remove();
  }
});

/** The lines in any order, without what differs from run to run: names, times, how much of a message fits. */
function essence(text: string): string[] {
  return text
    .trim()
    .split("\n")
    .map((line) =>
      line
        .replace(/\borders-[0-9a-z]{8}\b/g, "orders-ID")
        .replace(/\b\d+(\.\d+)? m?s\b/g, "TIME")
        .replace(/ {2,}/g, "  ")
        .replace(/node failed with [^·]*…$/, "node failed with…")
        .trimEnd(),
    )
    .sort();
}

it("the library code in the README is the example that the tests run", () => {
  const [, shown = "README shows none"] = /```js\n(.*?)```/s.exec(readme) ?? [];
  const example = readFileSync(join(ROOT, "examples/library.mjs"), "utf8");
  expect(example.replace(/^\/\*\*.*\*\/\n/, "")).toBe(shown);
});

it("the two commands in the README are the ones that npm and CI run", () => {
  expect(readme).toContain("npm ci && npm start");
  expect(readme).toContain("npm ci && npm test");
  expect(readFileSync(join(ROOT, ".ci/run"), "utf8")).toContain("(npm ci && npm test)");
});
