/** Vitest's global set-up: builds dist/ once when it is missing or older than what it is made from. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = ["src", "launcher", "scripts", "package.json", "tsconfig.build.json"];
/** Written by every build, one by each of its steps. */
const PRODUCTS = ["dist/cli/main.cjs", "dist/cli/program.cjs", "dist/index.js"];

/** Called by Vitest before the first test file. */
export function setup(): void {
  if (process.env.REDRIVE_TEST_CLI !== undefined || isFresh()) return;
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: ROOT, stdio: "inherit" });
}

function isFresh(): boolean {
  const newestSource = Math.max(...SOURCES.map((path) => newestMs(join(ROOT, path))));
  return PRODUCTS.every((path) => newestMs(join(ROOT, path)) >= newestSource);
}

/** When the file, or the newest file of the folder, was changed; 0 when there is none. */
function newestMs(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}
