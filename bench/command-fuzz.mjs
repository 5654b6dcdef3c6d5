/**
 * `npm run fuzz:commands -- [--runs N] [--seed S] [--slow]`: the long form of the command fuzz test. `--slow` adds servers
 * that never answer. The short form runs with the tests.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { SLOW_SERVERS, startServers } from "./commands/broken-servers.mjs";
import { fuzzCommands } from "./commands/fuzz.mjs";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    slow: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});

/** Loads the built program in the same way as its entry file. */
async function loadProgramFrom(folder) {
  const place = mkdtempSync(join(tmpdir(), "redrive-fuzz-build-"));
  try {
    const outfile = join(place, "load-program.mjs");
    await build({
      entryPoints: ["src/cli/load-program.ts"],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile,
    });
    const { loadProgram } = await import(pathToFileURL(outfile).href);
    return loadProgram(folder, `fuzz ${statSync(join(folder, "program.cjs")).mtimeMs}`); // cached code belongs to one build
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const program = await loadProgramFrom(fileURLToPath(new URL("../dist/cli/", import.meta.url)));
const servers = await startServers((name) => values.slow || !SLOW_SERVERS.has(name));
const seed = Number(values.seed);
const began = Date.now();
const SHOW_EVERY_MS = 5_000;
let shownAt = began;
const report = await fuzzCommands({
  program,
  runs: Number(values.runs),
  seed,
  servers: servers.urls,
  patienceMs: 1_500,
  deadlineMs: 60_000,
  onRun: ({ run, what, condition, words, code, ms }) => {
    if (what !== null)
      console.log(
        JSON.stringify({ run, condition, words: words.map(shorten), code, what: what.slice(0, 900) }),
      );
    else if (values.verbose) console.log(run, condition, code, Math.round(ms), words.map(shorten).join(" "));
    if (Date.now() - shownAt < SHOW_EVERY_MS) return;
    shownAt = Date.now();
    console.log(`${run + 1} runs, ${Math.round((shownAt - began) / 1000)} s`);
  },
});
await servers.close();
const { runs, commands, codes, conditions, violations } = report;
console.log(
  `seed ${seed}: ${runs} runs of ${commands.size} commands in ${Math.round((Date.now() - began) / 1000)} s`,
);
console.log(`conditions: ${Object.keys(conditions).length}; exit codes: ${JSON.stringify(codes)}`);
console.log(`${violations.length} violations`);
process.exit(violations.length > 0 ? 1 : 0); // a hanging command must not keep this process alive

function shorten(word) {
  return word.length > 60 ? `${word.slice(0, 60)}… (${word.length})` : word;
}
