/** The outputs on the examples' own pages are real. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ExampleShell } from "./shell.ts";
import { compareShown, shownIn } from "./shown.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples");
const CODES: Readonly<Record<string, readonly number[]>> = {
  "fix-lint": [3, 0, 0],
  "convert-files": [3, 0],
  "enrich-records": [3, 0],
  "no-git": [0],
  "verified-together": [0, 0],
};

describe("the page of an example", () => {
  let shell: ExampleShell;
  beforeEach(() => {
    shell = new ExampleShell();
  });
  afterEach(() => shell.remove());

  it.each(Object.entries(CODES))("%s shows what it prints", (example, codes) => {
    const folder = shell.copy(example);
    const steps = shownIn(readFileSync(join(folder, "README.md"), "utf8"));
    expect(steps).toHaveLength(codes.length);
    const ended = steps.map(({ script }) => shell.run(`{ ${script}} 2>&1`, folder));
    compareShown(
      join(EXAMPLES, example, "README.md"),
      steps,
      ended.map(({ stdout }) => stdout),
    );
    expect(ended.map(({ exitCode }) => exitCode)).toEqual(codes);
  });
});
