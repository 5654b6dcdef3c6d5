/** The `redrive` program. It answers `--version` by itself and loads everything else only when it is needed. */
import { createRequire } from "node:module";

declare const REDRIVE_VERSION: string;

async function main(): Promise<void> {
  const argv = process.argv.slice(2);
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    process.stdout.write(`${REDRIVE_VERSION}\n`);
    return;
  }
  process.stdout.on("error", leaveQuietly(process.stdout));
  process.stderr.on("error", leaveQuietly(process.stderr));
  // Not `import()`: for a CommonJS file that reads its whole text twice.
  const { runCli } = createRequire(import.meta.url)("./program.cjs") as typeof import("./program.ts");
  process.exitCode = await runCli(argv, {
    version: REDRIVE_VERSION,
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
  });
}

/**
 * Whoever read our output has seen enough (`| head`) or closed the terminal. What a command still writes goes nowhere,
 * and that is no failure: a run goes on, or ends as its signal says.
 */
function leaveQuietly({ isTTY }: NodeJS.WriteStream): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (error.code !== "EPIPE" && !(isTTY && error.code === "EIO")) throw error;
  };
}

void main();
