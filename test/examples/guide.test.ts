/** What the guide shows is what happens: each page is run block by block in a copy of its example. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ExampleShell } from "./shell.ts";
import { essence, shownIn } from "./shown.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** How each block ends. */
const CODES: Readonly<Record<string, readonly number[]>> = {
  "07-managing-letters.md": [3, 0, 0, 0, 0, 0, 3, 0, 0, 0],
  "08-settings.md": [0, 0],
  "09-exchange.md": [3, 0, 0, 0, 0],
  "12-groups.md": [3, 0, 0, 0, 0, 3, 0, 0, 0, 0],
};

describe("the guide", () => {
  let shell: ExampleShell;
  beforeEach(() => {
    shell = new ExampleShell();
  });
  afterEach(() => shell.remove());

  /** The guide is written by somebody called Ana. */
  function asShown(text: string, folder: string): string {
    return text.replaceAll(shell.home, "/home/ana/.redrive").replaceAll(folder, "/home/ana/shipments");
  }

  it.each(Object.entries(CODES))("%s shows what it prints", (page, codes) => {
    const folder = shell.copy("shipments");
    const steps = shownIn(read(`docs/${page}`));
    expect(steps).toHaveLength(codes.length);
    const ended = steps.map(({ script, shown }) => {
      const { exitCode, stdout } = shell.run(`{ ${script}} 2>&1`, folder);
      expect(essence(asShown(stdout, folder))).toEqual(essence(shown));
      return exitCode;
    });
    expect(ended).toEqual(codes);
  });

  it("the settings that the guide shows are valid, and their defaults are the real ones", () => {
    const [, shown = ""] = /```yaml\n(.*?)```/s.exec(read("docs/08-settings.md")) ?? [];
    const folder = shell.copy("shipments");
    const { dlq } = parse(shown);
    expect(dlq).toEqual({ max_items: 10_000, retention_days: 30, toxic_after: 5, mirror: true });
    const result = shell.run(`cat > redrive.yml <<'END'\n${shown}END\nredrive dlq stats --json`, folder);
    expect(result.exitCode, result.stderr).toBe(0);
  });

  it("the library code in the guide is the example that the tests run", () => {
    const [, shown = "the guide shows none"] = /```js\n(.*?)```/s.exec(read("docs/10-library.md")) ?? [];
    expect(read("examples/dlq-manager/orders.mjs").replace(/^\/\*\*.*\*\/\n/, "")).toBe(shown);
  });
});
