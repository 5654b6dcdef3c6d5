/**
 * Measures which line of an output is taken for the failure: `node bench/error-lines/measure.mjs`. Runs real tools on broken
 * inputs, each directly and inside of scripts, and checks that the chosen line names what was broken. Faults of missing
 * tools are skipped. A third of the faults is held out: look at its score only, not at its mistakes (`--wrong` hides them).
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { faults } from "./faults.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TIMEOUT_MS = 60_000;

/** How a command is run: by itself, and by the kinds of scripts that run commands in practice. */
const CONTEXTS = {
  directly: (command) => command,
  "in a script that reports": (command) =>
    `echo "Start of the run"; ( ${command} ); code=$?; echo "cleaning up"; echo "The run ended." >&2; exit $code`,
  "with one stream": (command) => `( ${command} ) 2>&1`,
  "in make": (command) => {
    writeFileSync("Makefile.run", `run:\n\t@echo "running the step"\n\t@bash step.sh\n`);
    writeFileSync("step.sh", command);
    return "make -f Makefile.run run";
  },
};

const { wrong, save } = parseArgs({
  options: { wrong: { type: "boolean" }, save: { type: "string" } },
}).values;
const pickErrorLine = await loaded();
const results = { tuned: { right: 0, all: 0 }, "held out": { right: 0, all: 0 } };
const saved = [];
for (const fault of faults(join(ROOT, "node_modules/.bin"))) {
  for (const [context, wrap] of Object.entries(CONTEXTS)) {
    const output = run(fault, wrap);
    if (output === undefined) continue;
    const part = isHeldOut(fault.name) ? "held out" : "tuned";
    const picked = pickErrorLine(output.stderr, output.stdout);
    const isRight = [fault.want].flat().some((text) => picked?.message.includes(text));
    results[part].all += 1;
    if (isRight) results[part].right += 1;
    else if (wrong && part === "tuned")
      console.log(`${fault.name}, ${context}: ${fault.want}\n  ${picked?.message}`);
    saved.push({ fault: fault.name, context, part, want: fault.want, isRight, ...output });
  }
}
for (const [part, { right, all }] of Object.entries(results))
  console.log(`${part.padEnd(10)} ${right} of ${all} right, ${((100 * right) / all).toFixed(1)} %`);
if (save !== undefined) writeFileSync(save, saved.map((one) => `${JSON.stringify(one)}\n`).join(""));

/** Holds out every third fault, with all its contexts, by a hash of its name. */
function isHeldOut(name) {
  let hash = 7;
  for (const char of name) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) | 0;
  return Math.abs(hash) % 3 === 0;
}

/** Runs the command in a folder with the broken files. Returns undefined when it did not fail, or its program is missing. */
function run({ files, command }, wrap) {
  const folder = mkdtempSync(join(tmpdir(), "redrive-fault-"));
  try {
    for (const [file, content] of Object.entries(files)) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      writeFileSync(join(folder, file), content);
    }
    process.chdir(folder);
    const { status, signal, stdout, stderr } = spawnSync("bash", ["-c", wrap(command)], {
      cwd: folder,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
      env: { ...process.env, LC_ALL: "C.UTF-8", NO_COLOR: "1" },
    });
    const program = /^[\w+.-]+/.exec(command)?.[0] ?? "";
    const isMissing = stderr.includes(`${program}: command not found`);
    return (status === 0 && signal === null) || isMissing ? undefined : { stdout, stderr };
  } finally {
    process.chdir(ROOT);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function loaded() {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "src/triage/error-line.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
    logLevel: "error",
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  return (await import(`data:text/javascript;base64,${code}`)).pickErrorLine;
}
