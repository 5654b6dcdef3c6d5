/** The `redrive` program. It prints the version itself and loads everything else only when it is needed. */
import { fileURLToPath } from "node:url";
import { loadProgram } from "./load-program.ts";

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
  process.stderr.on("error", () => undefined); // there is nowhere left to report it
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const { runCli } = loadProgram<typeof import("./program.ts")>(folder, REDRIVE_BUILD_ID);
  const code = await runCli(argv, {
    version: REDRIVE_VERSION,
    env: process.env,
    cwd: process.cwd(),
    get stdin() {
      return process.stdin; // created when it is first read: most commands never do
    },
    stdout: process.stdout,
    stderr: process.stderr,
  });
  process.exitCode = output.isLost ? OUTPUT_LOST : code;
}

/** A full disk does not stop the work, but incomplete output is a failure. */
const OUTPUT_LOST = 1;

/**
 * The reader closed the pipe (`| head`) or the terminal. Output that is still written is dropped, and that is no failure:
 * a run continues, or ends with the code of its signal.
 */
function isReaderGone(error: NodeJS.ErrnoException, { isTTY }: NodeJS.WriteStream): boolean {
  return error.code === "EPIPE" || (isTTY && error.code === "EIO");
}

void main();
