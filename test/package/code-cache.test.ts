/** What a start keeps for the next one, beside the built command line. It may only ever make things quicker. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const BUILT = fileURLToPath(new URL("../../dist/cli", import.meta.url));
let directory: TemporaryDirectory;
let folder: string;

beforeEach(() => {
  directory = new TemporaryDirectory();
  folder = join(directory.path, "cli");
  mkdirSync(folder);
  for (const name of readdirSync(BUILT).filter((file) => file.endsWith(".cjs"))) {
    cpSync(join(BUILT, name), join(folder, name));
  }
});
afterEach(() => directory.remove());

const help = () => execFileSync("node", [join(folder, "main.cjs"), "--help"], { encoding: "utf8" });
const kept = () => readdirSync(join(folder, "cache"));

it("the first start stores one file for the next, which prints the same", () => {
  const first = help();
  expect(first).toContain("redrive dlq list");
  expect(kept()).toHaveLength(1);
  expect(help()).toBe(first);
  expect(kept()).toHaveLength(1);
});

it("a damaged file is detected and replaced", () => {
  const first = help();
  const [name = ""] = kept();
  const path = join(folder, "cache", name);
  const whole = readFileSync(path);
  writeFileSync(path, Buffer.alloc(whole.length, 7));
  expect(help()).toBe(first);
  expect(readFileSync(path).equals(Buffer.alloc(whole.length, 7))).toBe(false);
});

it("a folder that cannot be written is no error", () => {
  writeFileSync(join(folder, "cache"), "in the way");
  expect(help()).toContain("redrive dlq list");
});

it("another bundle of the same length has another cache", () => {
  help();
  const program = readFileSync(join(folder, "program.cjs"), "utf8");
  const changed = program.replace(
    "Run work over many items in parallel",
    "RUNS WORK OVER MANY ITEMS IN PARALLEL",
  );
  writeFileSync(join(folder, "program.new"), changed);
  renameSync(join(folder, "program.new"), join(folder, "program.cjs"));
  const main = readFileSync(join(folder, "main.cjs"), "utf8");
  writeFileSync(join(folder, "main.cjs"), main.replace(/"[0-9a-f]{16}"/, '"0123456789abcdef"'));
  expect(help()).toContain("RUNS WORK OVER MANY ITEMS IN PARALLEL");
  expect(kept()).toHaveLength(2);
  rmSync(join(folder, "cache"), { recursive: true });
});
