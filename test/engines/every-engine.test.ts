import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ENGINES = join(import.meta.dirname, "../../src/engines");

it("every engine runs the suite of the contract", () => {
  const names = readdirSync(ENGINES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => name !== "sql"); // what the SQL engines share
  expect(names).toContain("sqlite");
  expect([...names, "memory"].filter((name) => !runsSuite(name))).toEqual([]);
});

function runsSuite(name: string): boolean {
  const file = join(import.meta.dirname, `${name}.test.ts`);
  return existsSync(file) && readFileSync(file, "utf8").includes(`engineSuite("${name}"`);
}
