/** Test files of the unit project share a process, and all property tests draw their data from the seed of the run. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./sources.ts";

const files = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, text: readFileSync(join(ROOT, "test", path), "utf8") }));

const config = readFileSync(join(ROOT, "vitest.config.ts"), "utf8");
const [, alone = ""] = /ALONE = "([^"]+)"/.exec(config) ?? [];
const [, folders = ""] = /TOGETHER = \[([^\]]+)\]/.exec(config) ?? [];

const CHANGES_PROCESS =
  /\bvi\.(mock|doMock|spyOn|stubEnv|stubGlobal|useFakeTimers)\(|\bprocess\.(chdir|umask)\(|\bprocess\.env\.\w+ = /;

describe("test files", () => {
  it("that change the process are not among those that share one", () => {
    const shared = new Set(folders.match(/[a-z-]+/g));
    const names = new Set(alone.split("|"));
    const wrong = files.filter(
      ({ path, text }) =>
        shared.has(path.split("/")[0] ?? "") &&
        !names.has(basename(path, ".test.ts")) &&
        CHANGES_PROCESS.test(text) &&
        path.endsWith(".test.ts"),
    );
    expect([shared.size > 10, names.size > 3]).toEqual([true, true]);
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  it("import fast-check with the seed of the run", () => {
    const own = files.filter(({ text }) => /^import .* from "fast-check"/m.test(text));
    expect(own.map(({ path }) => path)).toEqual(["support/properties.ts"]);
  });
});
