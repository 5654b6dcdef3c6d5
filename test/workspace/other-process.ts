/** Runners in processes of their own, for what only several processes or a killed one can show. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { MergeStrategy } from "../../src/workflow/model.ts";
import type { Workshop } from "./repo-kit.ts";

/** Eight items of one side, each a commit, merged into job-1. */
export function startMerging(
  { top, home, root }: Workshop,
  side: string,
  strategy: MergeStrategy = "commit-per-item",
): ChildProcess {
  const program = join(root, `merging-${side}.mjs`);
  buildSync({
    entryPoints: [fileURLToPath(new URL("merging-process.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  return spawn(process.execPath, [program, top, home, side, strategy], {
    stdio: ["ignore", "inherit", "inherit"],
  });
}
