/**
 * Runs the real command line with its own home and a minimal environment: short commands in this process, others as a child
 * process. A started process can be observed, signalled and awaited. One that hangs is killed by its pid, and the error
 * contains its output.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { isProcessTaken, kindOf, runAsProcess, runInProcess } from "./in-process-cli.ts";
import { until } from "./until.ts";

/** The program under test. `REDRIVE_TEST_CLI` selects another one, such as that of an installed package. */
export const CLI_PATH =
  process.env.REDRIVE_TEST_CLI ?? fileURLToPath(new URL("../../dist/cli/main.cjs", import.meta.url));

export interface CliOptions {
  /** The value of `REDRIVE_HOME`. */
  readonly home: string;
  /** Default: the home. */
  readonly cwd?: string;
  /** Standard input; the pipe is closed after it. Default: empty. */
  readonly stdin?: string | Uint8Array;
  /** Added to the few variables that a command line needs. */
  readonly env?: Readonly<Record<string, string>>;
  /** Wraps the command to run it elsewhere, such as in a network namespace. Default: unchanged. */
  readonly on?: { words(program: readonly string[]): readonly string[] };
}

export interface CliResult {
  /** Null if the process was ended by a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stdoutBytes: Buffer;
  readonly stderr: string;
  /** Parses all of stdout as one JSON document; throws if it is anything else. */
  json<T = Record<string, unknown>>(): T;
}

let hasOwnProcesses = false;

/**
 * For test files that read or damage the file of a store: SQLite moves the last commits from the WAL into it when the process ends,
 * or when the statements of a closed connection are collected.
 */
export function useProcesses(): void {
  hasOwnProcesses = true;
}

/** Runs one command line to its end. */
export async function redrive(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const kind =
    process.env.REDRIVE_TEST_CLI === undefined && options.on === undefined ? kindOf(args) : undefined;
  const names = Object.keys(options.env ?? {});
  if (kind === "short" && names.every((name) => READ_BY_PROGRAM.test(name)))
    return redriveHere(args, options, runInProcess);
  if (
    kind === "running" &&
    !hasOwnProcesses &&
    !isProcessTaken() &&
    !names.some((name) => NEEDS_PROCESS.test(name))
  )
    return redriveHere(args, options, runAsProcess);
  return startRedrive(args, { stdin: "", ...options }).ended;
}

/** Variables that the program reads from its terminal; others may change the process itself, such as `NODE_OPTIONS`. */
const READ_BY_PROGRAM = /^(PATH|HOME|REDRIVE_\w+)$/;

/** Variables that Node reads once, at its start, and those of an editor, which gets the terminal. */
const NEEDS_PROCESS = /^(NODE_|LD_|UV_|TZ$|TMPDIR$|EDITOR$|VISUAL$)/;

async function redriveHere(
  args: readonly string[],
  options: CliOptions,
  runHere: typeof runInProcess,
): Promise<CliResult> {
  const { home, cwd = home, stdin = "" } = options;
  const invocation = { programPath: CLI_PATH, cwd, env: environmentOf(options), stdin };
  const { code, stdout, stderr } = await runHere(args, invocation);
  return resultOf({ code, signal: null, stdoutBytes: stdout, stderr: stderr.toString() });
}

/** Of the test run: while a command has the environment of this process, it has another path. */
const PATH = process.env.PATH ?? "";

function environmentOf({ home, env }: CliOptions): Readonly<Record<string, string>> {
  return { PATH, HOME: home, REDRIVE_HOME: join(home, "redrive"), ...env };
}

function resultOf(result: Omit<CliResult, "stdout" | "json">): CliResult {
  const stdout = result.stdoutBytes.toString();
  return { ...result, stdout, json: () => JSON.parse(stdout) };
}

export type StartOptions = CliOptions;

/** Starts one command line. Without `stdin` the pipe stays open for `running.stdin`. */
export function startRedrive(args: readonly string[], options: StartOptions): RunningCli {
  return new RunningCli(args, options);
}

/** Longer than any command takes on a busy machine, and shorter than the timeout of a test. */
const LIFETIME_MS_MAX = 100_000;

export class RunningCli {
  readonly ended: Promise<CliResult>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #args: readonly string[];
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];
  #isOver = false;

  constructor(args: readonly string[], options: StartOptions) {
    const { home, cwd = home, stdin, on } = options;
    this.#args = args;
    const program = [process.execPath, CLI_PATH, ...args];
    const [first = process.execPath, ...rest] = on?.words(program) ?? program;
    this.#child = spawn(first, rest, {
      cwd,
      env: environmentOf(options),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdin.on("error", () => undefined); // the program may end before it has read everything
    this.#child.stdout.on("data", (chunk: Buffer) => this.#stdout.push(chunk));
    this.#child.stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    if (stdin !== undefined) this.#child.stdin.end(stdin);
    this.ended = this.#untilClosed();
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error("the command line could not be started");
    return pid;
  }

  get stdin(): Writable {
    return this.#child.stdin;
  }

  get stdout(): string {
    return Buffer.concat(this.#stdout).toString();
  }

  get stderr(): string {
    return Buffer.concat(this.#stderr).toString();
  }

  /** Closes our end of its stdout, as `head` does after its last line. */
  closeStdout(): void {
    this.#child.stdout.destroy();
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Resolves when the condition holds; rejects if the program ends before. */
  async until(what: string, condition: () => boolean): Promise<void> {
    await until(what, () => {
      if (condition()) return true;
      if (this.#isOver) throw new Error(`${what}: the program ended before. ${this.#said()}`);
      return false;
    });
  }

  /** Resolves when stdout contains the text. */
  untilStdout(text: string | RegExp): Promise<void> {
    return this.until(`stdout has ${text}`, () => has(this.stdout, text));
  }

  /** Resolves when stderr contains the text. */
  untilStderr(text: string | RegExp): Promise<void> {
    return this.until(`stderr has ${text}`, () => has(this.stderr, text));
  }

  #untilClosed(): Promise<CliResult> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#child.kill("SIGKILL");
        reject(new Error(`redrive ${this.#args.join(" ")} did not end. ${this.#said()}`));
      }, LIFETIME_MS_MAX);
      this.#child.on("error", reject);
      this.#child.on("close", (code, signal) => {
        clearTimeout(timer);
        this.#isOver = true;
        resolve(resultOf({ code, signal, stdoutBytes: Buffer.concat(this.#stdout), stderr: this.stderr }));
      });
    });
  }

  #said(): string {
    return `stdout: ${this.stdout.slice(-2000)}\nstderr: ${this.stderr.slice(-2000)}`;
  }
}

function has(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === "string" ? text.includes(wanted) : wanted.test(text);
}
