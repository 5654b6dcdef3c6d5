/** The bundles of the built command line: which of them a command reads, and from which build. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = join(ROOT, "dist/cli");
const FILES = readdirSync(BUILT).filter((name) => name.endsWith(".cjs"));
let directory: TemporaryDirectory;
let folder: string;

beforeEach(() => {
  directory = new TemporaryDirectory();
  folder = join(directory.path, "dist/cli");
  mkdirSync(folder, { recursive: true });
  for (const name of FILES) cpSync(join(BUILT, name), join(folder, name));
  symlinkSync(join(ROOT, "node_modules"), join(directory.path, "node_modules"));
});
afterEach(() => directory.remove());

function redrive(args: readonly string[], input = "") {
  const { PATH } = process.env;
  const env = { PATH, REDRIVE_HOME: join(directory.path, "home") };
  const command = [join(folder, "main.cjs"), ...args];
  return spawnSync(process.execPath, command, { cwd: directory.path, env, input, encoding: "utf8" });
}

/** Reading any other bundle fails. */
function keepOnly(...names: readonly string[]): void {
  for (const name of FILES) if (!["main.cjs", ...names].includes(name)) writeFileSync(join(folder, name), "");
}

it("a list of letters needs the first bundle only", () => {
  expect(redrive(["map", "--retries", "0", "--", "false"], "first\n").status).toBe(3);
  keepOnly("program.cjs");
  const { stdout, stderr, status } = redrive(["dlq", "list"]);
  expect(stdout, stderr).toContain("1 of 1 letter of");
  expect(status).toBe(0);
});

it("a map needs two bundles, even if an item dies", () => {
  keepOnly("program.cjs", "running.cjs");
  const command = ["map", "--retries", "0", "--", "sh", "-c", 'test "$1" != bad', "-", "${item}"];
  const { stderr, status } = redrive(command, "good\nbad\n");
  expect(stderr).toContain("1 of 2 succeeded");
  expect(status, stderr).toBe(3);
});

it("a run ends with the build that it began with, even if another one was installed meanwhile", () => {
  const fixes = [
    { name: "mend", match: { type: "CommandFailed" }, set: { whole: "true" }, max_uses: 1, auto: true },
  ];
  writeFileSync(join(directory.path, "redrive.yml"), JSON.stringify({ fixes }));
  const install = `cd "$2" && rm *.cjs && for name in ${FILES.join(" ")}; do echo "({chunks: {}})" > $name; done`;
  const script = `[ "$1" = true ] || { ${install}; exit 1; }`;
  const command = ["map", "--retries", "0", "--", "sh", "-c", script, "-", "${item.whole}", folder];
  const { stderr, status } = redrive(command, JSON.stringify([{ whole: false }]));
  expect(stderr).toContain("fix mend");
  expect(status, stderr).toBe(0);
});
