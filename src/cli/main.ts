/** The entry point of `redrive`. It prints the version itself and loads everything else on demand. */
import { fileURLToPath } from "node:url";
import { loadProgram } from "./load-program.ts";
import { tuneForRunning } from "./v8-flags.ts";

declare const REDRIVE_VERSION: string;
/** Identifies the bundles that were built with this file. */
declare const REDRIVE_BUILD_ID: string;

async function main(): Promise<void> {
  const argv = process.argv.slice(2);
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    process.stdout.write(`${REDRIVE_VERSION}\n`);
    return;
  }
  const output = { isLost: false };
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (isReaderGone(error, process.stdout) || output.isLost) return;
    output.isLost = true;
    process.exitCode = OUTPUT_LOST;
    process.stderr.write(`redrive: stdout cannot be written: ${error.message}.\n`);
  });
  process.stderr.on("error", () => undefined); // errors of stderr cannot be reported
  await tuneForRunning(argv);
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const { runCli } = loadProgram<typeof import("./program.ts")>(folder, REDRIVE_BUILD_ID);
  const code = await runCli(argv, {
    version: REDRIVE_VERSION,
    env: process.env,
    cwd: process.cwd(),
    get stdin() {
      return process.stdin; // a getter, because most commands never read stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
  });
  process.exitCode = output.isLost ? OUTPUT_LOST : code;
}

/** The exit code for incomplete output, for example on a full disk. The work itself continues. */
const OUTPUT_LOST = 1;

/**
 * Whether the reader closed the pipe (`| head`) or the terminal. Further output is then dropped without an error: a run
 * continues, or ends with the exit code of its signal.
 */
function isReaderGone(error: NodeJS.ErrnoException, { isTTY }: NodeJS.WriteStream): boolean {
  return error.code === "EPIPE" || (isTTY && error.code === "EIO");
}

void main();
