/** ARCHITECTURE.md shows the path of one item: a short one, on which every file is reached from an earlier one. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT, readSources } from "./sources.ts";

const MAP_FILES_MAX = 40;
const RETRY_FILES_MAX = 12;
/** The contract is called, and the engine of the store implements it. */
const IMPLEMENTS: Readonly<Record<string, string>> = { "engines/sqlite/engine.ts": "engine.ts" };

const page = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
const section = page.slice(page.indexOf("## The path of one item"), page.indexOf("## Invariants"));
const [, map = "", retry = ""] = section.split(/^\| step \| files \|$/m);
const sources = readSources();

function filesOf(table: string): readonly string[] {
  const rows = table.split("\n").filter((line) => line.startsWith("|"));
  return rows.flatMap((row) => [...row.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = ""]) => file));
}

function isReached(file: string, earlier: readonly string[]): boolean {
  if (earlier.includes(IMPLEMENTS[file] ?? "")) return true;
  return sources.some(({ path, imports }) => {
    return earlier.includes(path) && imports.some((one) => !one.isPackage && one.target === file);
  });
}

describe("the path of one item", () => {
  const mapFiles = filesOf(map);
  const retryFiles = filesOf(retry);

  it("from the command to its letter is short", () => {
    expect(mapFiles.length).toBeGreaterThan(20);
    expect(new Set(mapFiles).size).toBe(mapFiles.length);
    expect(mapFiles.length).toBeLessThanOrEqual(MAP_FILES_MAX);
  });

  it("through a retry is not much longer", () => {
    expect(retryFiles.length).toBeGreaterThan(5);
    expect(retryFiles.filter((file) => mapFiles.includes(file))).toEqual([]);
    expect(new Set(retryFiles).size).toBeLessThanOrEqual(RETRY_FILES_MAX);
  });

  it("names only existing files, each imported by one before it", () => {
    const all = [...mapFiles, ...retryFiles];
    const starts = [mapFiles[0], retryFiles[0]];
    const lost = all.filter((file, index) => !starts.includes(file) && !isReached(file, all.slice(0, index)));
    expect(lost).toEqual([]);
    expect(all.filter((file) => !sources.some(({ path }) => path === file))).toEqual([]);
  });
});
