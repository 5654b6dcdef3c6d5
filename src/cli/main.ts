/** The `redrive` program. It answers `--version` by itself and loads everything else only when it is needed. */
import { fileURLToPath } from "node:url";
import { loadProgram } from "./load-program.ts";

declare const REDRIVE_VERSION: string;
/** Names the volumes that were built with this file. */
declare const REDRIVE_BUILD_ID: string;

async function main(): Promise<void> {
  const argv = process.argv.slice(2);
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    process.stdout.write(`${REDRIVE_VERSION}\n`);
    return;
  }
  const output = { isLost: false };
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (hasLeft(error, process.stdout) || output.isLost) return;
    output.isLost = true;
    process.exitCode = OUTPUT_LOST;
    process.stderr.write(`redrive: stdout cannot be written: ${error.message}.\n`);
  });
  process.stderr.on("error", () => undefined); // there is nowhere left to say it
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const { runCli } = loadProgram<typeof import("./program.ts")>(folder, REDRIVE_BUILD_ID);
  const code = await runCli(argv, {
    version: REDRIVE_VERSION,
    env: process.env,
    cwd: process.cwd(),
    get stdin() {
      return process.stdin; // made when it is asked for: most commands never do
    },
    stdout: process.stdout,
    stderr: process.stderr,
  });
  process.exitCode = output.isLost ? OUTPUT_LOST : code;
}

/** A disk that is full does not stop the work, but an answer that is not whole is no success. */
const OUTPUT_LOST = 1;

/**
 * Whoever read our output has seen enough (`| head`) or closed the terminal. What a command still writes goes nowhere,
 * and that is no failure: a run goes on, or ends as its signal says.
 */
function hasLeft(error: NodeJS.ErrnoException, { isTTY }: NodeJS.WriteStream): boolean {
  return error.code === "EPIPE" || (isTTY && error.code === "EIO");
}

void main();
