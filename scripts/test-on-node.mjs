/**
 * `npm run test:nodes -- [MAJOR…] [-- VITEST_ARGUMENT…]`: runs tests on other Node versions, each installed from its npm package below
 * node_modules/.cache. Default: 22 and 24, with the unit tests and the first journeys. Exits with 1 when a version fails.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

const DEFAULT_MAJORS = ["22", "24"];
const DEFAULT_TESTS = [
  "test/attempt",
  "test/runner",
  "test/redrive",
  "test/engines/sqlite.test.ts",
  "test/library/node-sqlite.test.ts",
  "test/journeys/01-map.test.ts",
  "test/journeys/10-workflow.test.ts",
];

const { majors, tests } = readArguments(process.argv.slice(2));
const failed = majors.filter((major) => !passesOn(major));
if (failed.length > 0) console.error(`Tests failed on Node ${failed.join(", ")}.`);
process.exitCode = failed.length > 0 ? 1 : 0;

function readArguments(words) {
  const end = words.indexOf("--");
  const majors = end === -1 ? words : words.slice(0, end);
  const tests = end === -1 ? [] : words.slice(end + 1);
  return {
    majors: majors.length > 0 ? majors : DEFAULT_MAJORS,
    tests: tests.length > 0 ? tests : DEFAULT_TESTS,
  };
}

function passesOn(major) {
  const node = installNode(major);
  console.log(`Node ${run(node, ["--version"], { stdio: "pipe" }).stdout.toString().trim()}`);
  // Commands that a test starts as `node` must find this version too.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  delete env.REDRIVE_TEST_REPORT;
  return (
    run(node, ["node_modules/vitest/vitest.mjs", "run", ...tests], { env, stdio: "inherit" }).status === 0
  );
}

/** The path of the program; the package is named after the platform and holds nothing but it. */
function installNode(major) {
  const folder = join("node_modules", ".cache", `node-${major}`);
  const name = `node-${process.platform}-${process.arch}`;
  const program = join(process.cwd(), folder, "node_modules", name, "bin", "node");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const { status } = run("npm", ["install", "--no-save", "--prefix", folder, `${name}@${major}`], {
    stdio: "inherit",
  });
  if (status !== 0 || !existsSync(program))
    throw new Error(`Cannot install Node ${major} from npm (${name}).`);
  return program;
}

function run(program, args, options) {
  const result = spawnSync(program, args, options);
  if (result.error) throw result.error;
  return result;
}
