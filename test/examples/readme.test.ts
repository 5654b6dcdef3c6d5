/** The README is true: its commands are run block by block, its workflow and its library code are those of tested examples. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { ExampleShell } from "./shell.ts";
import { compareShown, shownIn } from "./shown.ts";

const ROOT = join(import.meta.dirname, "../..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

it("the examples print what the README shows", () => {
  const steps = shownIn(readme);
  expect(steps.length).toBeGreaterThan(1);
  const shell = new ExampleShell();
  try {
    const ended = steps.map(({ script }) => shell.run(`{ ${script}} 2>&1`));
    compareShown(
      join(ROOT, "README.md"),
      steps,
      ended.map(({ stdout }) => stdout),
    );
    expect(ended.map(({ exitCode }) => exitCode)).toEqual([3, 0]);
  } finally {
    shell.remove();
  }
});

it("the workflow in the README is the one of the example", () => {
  const [, shown = ""] = /```yaml\n(.*?)```/s.exec(readme) ?? [];
  const run = readFileSync(join(ROOT, "examples/fix-lint/workflow.yml"), "utf8");
  expect(parse(shown)).toEqual(parse(run));
});

it("the library code in the README is a part of the example that the tests run", () => {
  const [, shown = "README shows none"] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  const example = readFileSync(join(ROOT, "examples/library.ts"), "utf8").split("\n");
  let from = 0;
  for (const line of shown.trimEnd().split("\n")) {
    const at = example.indexOf(line, from);
    expect(at, line).toBeGreaterThanOrEqual(from);
    from = at + (line === "" ? 0 : 1);
  }
});

it("the two commands in the README are the ones that npm and CI run", () => {
  expect(readme).toContain("npm ci && npm start");
  expect(readme).toContain("npm ci && npm test");
  expect(readFileSync(join(ROOT, ".ci/run"), "utf8")).toMatch(
    /\(npm ci && .*&& npm test && npm run test:nodes\)/,
  );
});
