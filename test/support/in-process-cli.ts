/**
 * Runs short commands of the built program in the process of the test: starting Node costs ten times as much as the command.
 * The program gets everything from outside through its `Terminal`, so that the result is the same.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { loadProgram } from "../../src/cli/load-program.ts";
import type { runCli } from "../../src/cli/program.ts";

/** Commands that only read or change the store, and run no command of the user. */
const SHORT: Readonly<Record<string, readonly string[] | "all">> = {
  audit: "all",
  dlq: [
    ...[
      "analyze",
      "capsule",
      "clear",
      "discard",
      "evidence",
      "export",
      "import",
      "inspect",
      "list",
      "maintain",
    ],
    ...["mirror", "note", "purge", "restore", "show", "stats"],
  ],
  errors: "all",
  events: "all",
  groups: "all",
  items: "all",
  jobs: "all",
  logs: "all",
  ops: ["cancel", "list", "pause", "show", "undo"],
  overview: "all",
  queue: "all",
  receipts: ["inspect", "list", "pause", "resume", "target"],
  schedule: "all",
  status: "all",
  store: ["check", "copy", "info", "migrate"],
  token: "all",
  validate: "all",
};

/** Whether the command may run here. Commands that follow something end by a signal, which needs a process. */
export function isShort([family = "", command = "", ...more]: readonly string[]): boolean {
  const commands = SHORT[family];
  const endsBySignal = [command, ...more].some((word) => ["--follow", "--watch", "-f"].includes(word));
  return !endsBySignal && (commands === "all" || commands?.includes(command) === true);
}

export interface Invocation {
  readonly programPath: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | Uint8Array;
}

export async function runInProcess(args: readonly string[], invocation: Invocation) {
  const { cwd, env, stdin, programPath } = invocation;
  const [stdout, stderr] = [new Collector(), new Collector()];
  const input = Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]);
  const version = "0.0.0";
  const code = await program(programPath).runCli(args, { version, env, cwd, stdin: input, stdout, stderr });
  return { code, stdout: stdout.bytes, stderr: stderr.bytes };
}

class Collector extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

let loaded: { readonly path: string; readonly runCli: typeof runCli } | undefined;

function program(path: string) {
  if (loaded?.path !== path) {
    const folder = join(path, "..");
    const build = `test-${statSync(join(folder, "program.cjs")).mtimeMs}`;
    loaded = { path, ...loadProgram<{ readonly runCli: typeof runCli }>(folder, build) };
  }
  return loaded;
}
