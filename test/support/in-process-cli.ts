/**
 * Runs short commands of the built program in the process of the test: starting Node costs ten times as much as the command.
 * The program gets everything from outside through its `Terminal`, so that the result is the same.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { loadProgram } from "../../src/cli/load-program.ts";
import type { runCli } from "../../src/cli/program.ts";
import { assert } from "../../src/std/assert.ts";

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
    ...["mirror", "note", "purge", "restore", "show", "stats", ""],
  ],
  errors: "all",
  events: "all",
  groups: "all",
  items: "all",
  jobs: "all",
  logs: "all",
  ops: ["", "cancel", "list", "pause", "show", "undo"],
  overview: "all",
  queue: "all",
  receipts: ["", "inspect", "list", "pause", "resume", "target"],
  schedule: "all",
  status: "all",
  store: ["check", "copy", "info", "migrate"],
  token: "all",
  validate: "all",
};

/**
 * Commands that also run commands of the user, git, or the work of a queue. These inherit the environment of the process, and
 * paths are relative to its folder, so that only one of them runs here at a time.
 */
const RUNNING: Readonly<Record<string, readonly string[] | "all">> = {
  dlq: ["edit", "fix", "redrive", "reprocess", "retry"],
  map: "all",
  ops: ["resume"],
  receipts: ["deliver", "recover", "send"],
  report: "all",
  resume: "all",
  run: "all",
  skip: "all",
  stop: "all",
  worker: "all",
  worktrees: "all",
};

export type Kind = "short" | "running";

/** How the command may run here. Undefined for those that need a process, such as all that a signal ends. */
export function kindOf([family = "", command = "", ...more]: readonly string[]): Kind | undefined {
  const endsBySignal = [command, ...more].some((word) => ["--follow", "--watch", "-f"].includes(word));
  if (endsBySignal) return undefined;
  if (isIn(SHORT, family, command)) return "short";
  return isIn(RUNNING, family, command) ? "running" : undefined;
}

function isIn(table: typeof SHORT, family: string, command: string): boolean {
  const commands = Object.hasOwn(table, family) ? table[family] : undefined;
  const name = command.startsWith("-") ? "" : command; // a family's default
  return commands === "all" || commands?.includes(name) === true;
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

let isTaken = false;

/** Whether another command has the environment and the folder of this process. */
export const isProcessTaken = () => isTaken;

/** As `runInProcess`, with the environment and the folder of the command for the whole process. */
export async function runAsProcess(args: readonly string[], invocation: Invocation) {
  assert(!isTaken, "another command has the environment of this process");
  isTaken = true;
  const [env, cwd] = [{ ...process.env }, process.cwd()];
  setEnvironment(invocation.env);
  process.chdir(invocation.cwd);
  try {
    return await runInProcess(args, invocation);
  } finally {
    process.chdir(cwd);
    setEnvironment(env);
    isTaken = false;
  }
}

/** Variables of the test run, which tests read at any time. */
const OF_TESTS = /^(VITEST|REDRIVE_TEST_|NODE_ENV$)/;

/** Changes the variables one by one, because only then the C library and the processes that it starts see them. */
function setEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) {
    if (!Object.hasOwn(env, name) && !OF_TESTS.test(name)) delete process.env[name];
  }
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
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
    // The build's own id, so that the code cache of the processes before is used; Vitest's workers write none.
    const [, build] = /"([0-9a-f]{16})"/.exec(readFileSync(path, "utf8")) ?? [];
    assert(build, `${path} has no build id`);
    loaded = { path, ...loadProgram<{ readonly runCli: typeof runCli }>(join(path, ".."), build) };
  }
  return loaded;
}
