/** Vitest global setup: builds dist/ once if it is missing or older than its sources. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = ["src", "launcher", "scripts", "package.json", "tsconfig.build.json"];
/** Every build writes these files, one in each of its steps. */
const PRODUCTS = [
  "dist/cli/main.cjs",
  "dist/cli/program.cjs",
  "dist/index.js",
  "dist/engine.js",
  "dist/triage.js",
  "dist/testing.js",
  "dist/otel.js",
];

/** Called by Vitest before the first test file. */
export function setup(): void {
  if (process.env.REDRIVE_TEST_CLI !== undefined || isFresh()) return;
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: ROOT, stdio: "inherit" });
}

function isFresh(): boolean {
  const newestSource = Math.max(...SOURCES.map((path) => newestMs(join(ROOT, path))));
  return PRODUCTS.every((path) => newestMs(join(ROOT, path)) >= newestSource);
}

/** The modification time of the file, or of the newest file in the folder; 0 if there is none. */
function newestMs(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}
