/** The environment of a torture run: its own home, the built CLI, and the runners started in it. */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { workerCommand } from "./items.mjs";
import { MARK_VARIABLE, markedProcesses, signal } from "./processes.mjs";

const CLI = fileURLToPath(new URL("../../dist/cli/main.cjs", import.meta.url));

/** The job that all runners work on. */
export const JOB = "torture";

export class Arena {
  home = mkdtempSync(join(tmpdir(), "redrive-torture-"));
  /** The working directory of the runners. */
  cwd = this.home;
  input = join(this.home, "input.jsonl");
  ledger = join(this.home, "ledger");
  /** Once this file exists, no item fails permanently any more. */
  healed = join(this.home, "healed");
  storePath = join(this.home, "redrive.db");
  mark = this.home;
  /** The concurrency of a map. */
  jobs = 8;
  /** A description of each runner that ended in an unexpected way. */
  troubles = [];
  /** How many signals reached a runner at work. */
  strikes = 0;
  /** The same number by name of the fault. */
  hits = {};
  #env = {
    ...process.env,
    REDRIVE_HOME: this.home,
    REDRIVE_STORE: `sqlite:${this.storePath}`,
    TORTURE_LEDGER: this.ledger,
    TORTURE_HEALED: this.healed,
    [MARK_VARIABLE]: this.mark,
    LC_ALL: "C",
    NO_COLOR: "1",
  };
  #shell = hasBash() ? "bash" : "sh";
  #runners = 0;

  /** Arguments of the commands that work on the job. */
  commands = {
    map: () => [
      ...[
        "map",
        "--name",
        JOB,
        "--input",
        this.input,
        "--id-field",
        "id",
        "--jobs",
        String(this.jobs),
        "--retries",
        "3",
      ],
      ...["--backoff", "exponential:20ms:200ms", "--grace", "300ms", "--quiet", "--"],
      ...workerCommand(this.#shell),
    ],
    resume: () => ["resume", JOB, "--quiet"],
    resumeWithoutLetters: () => ["resume", JOB, "--no-dlq", "--quiet"],
    retry: () => ["dlq", "retry", JOB, "--yes", "--force", "--quiet"],
  };

  /** Starts the CLI. `ended` resolves when it has ended and never rejects. */
  start(args) {
    const saidPath = join(this.home, `runner-${++this.#runners}.stderr`);
    const said = openSync(saidPath, "w");
    const child = spawn(process.execPath, [CLI, ...args], {
      cwd: this.cwd,
      env: this.#env,
      stdio: ["ignore", "ignore", said],
    });
    closeSync(said);
    const runner = { pid: child.pid, child, args, isOver: false };
    runner.ended = new Promise((resolve) => {
      child.once("exit", (code, name) => {
        runner.isOver = true;
        resolve({ code, signal: name, said: readFileSync(saidPath, "utf8") });
      });
    });
    return runner;
  }

  /** Runs the CLI and parses its JSON output. */
  ask(...args) {
    return JSON.parse(
      execFileSync(process.execPath, [CLI, ...args, "--json"], { env: this.#env, encoding: "utf8" }),
    );
  }

  /** Counts a fault that hit a process at work. */
  hit(name) {
    this.strikes += 1;
    this.hits[name] = (this.hits[name] ?? 0) + 1;
  }

  get hasStore() {
    return existsSync(this.storePath);
  }

  /** Kills remaining processes and removes the home. */
  tidy({ keep }) {
    for (const { pid } of markedProcesses(this.mark)) signal(pid, "SIGKILL");
    if (!keep) rmSync(this.home, { recursive: true, force: true });
  }
}

/** Bash reads the time without starting a process. */
export function hasBash() {
  try {
    return /^\d+\.\d+/.test(
      execFileSync("bash", ["--norc", "-c", "echo $EPOCHREALTIME"], {
        encoding: "utf8",
        env: { LC_ALL: "C" },
      }),
    );
  } catch {
    return false; // sh has to start a process for the time, in whole seconds
  }
}
