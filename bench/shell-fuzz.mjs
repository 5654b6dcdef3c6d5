/**
 * `npm run fuzz:shell -- [--scripts N] [--seed S]`: the long form of the fuzz test of shell steps (default 20,000 scripts in
 * every shell of this machine) and of agent arguments. The short form runs with the tests.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { findShells, fuzzAgents, fuzzScripts } from "./shell/fuzz.mjs";

const { values } = parseArgs({
  options: { scripts: { type: "string", default: "20000" }, seed: { type: "string", default: "1" } },
});
const [count, seed] = [Number(values.scripts), Number(values.seed)];

/** Loads the functions from the TypeScript sources. */
async function load() {
  const folder = mkdtempSync(join(tmpdir(), "redrive-fuzz-build-"));
  try {
    await build({
      entryPoints: ["src/workflow/shell-values.ts", "src/workflow/program.ts"],
      bundle: true,
      platform: "node",
      format: "esm",
      outdir: folder,
      outExtension: { ".js": ".mjs" },
    });
    const { fillScript } = await import(pathToFileURL(join(folder, "shell-values.mjs")).href);
    const { programOf } = await import(pathToFileURL(join(folder, "program.mjs")).href);
    return { fillScript, programOf };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const { fillScript, programOf } = await load();
const { found, missing } = findShells();
for (const reason of missing) console.log(`skipped ${reason}`);
const names = found.map(({ name }) => name).join(", ");
let shown = 0;
const report = fuzzScripts({
  fillScript,
  count,
  seed,
  shells: found,
  onBatch: ({ scripts, violations }) => {
    if (scripts - shown < 2000) return;
    shown = scripts;
    console.log(`${scripts} scripts, ${violations.length} violations`);
  },
});
const { scripts, accepted, refused, runs, violations } = report;
console.log(
  `seed ${seed}: ${scripts} scripts, ${accepted} accepted, ${refused} refused, ${runs} runs in ${names}`,
);
const agents = fuzzAgents({ programOf, count, seed });
console.log(`${agents.agents} agents, ${agents.accepted} accepted`);
for (const violation of [...violations, ...agents.violations].slice(0, 20))
  console.log(JSON.stringify(violation));
console.log(`${violations.length + agents.violations.length} violations`);
process.exitCode = violations.length + agents.violations.length > 0 ? 1 : 0;
