/**
 * The launcher that needs no binary: Node starts the commands itself, at half a millisecond each. Each leads its own
 * session. What it cannot do: when the runner is killed with -9, nobody is left to signal its commands.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, rmSync, statSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { randomName } from "../kit/random.ts";
import {
  CLOSE_GRACE_MS,
  type Ended,
  LAUNCH_ID_VARIABLE,
  type Launched,
  type Launcher,
  type LaunchSpec,
  notStarted,
} from "./launch.ts";
import { collectOutput, openInput, openOutput } from "./output-files.ts";
import { endTree } from "./process-tree.ts";

export function openSpawnLauncher(): Launcher {
  return new SpawnLauncher();
}

class SpawnLauncher implements Launcher {
  readonly kind = "spawn";
  readonly #name = randomName(16);
  readonly #running = new Set<Launched>();
  #idLast = 0;

  launch(spec: LaunchSpec): Launched {
    const launchId = `${this.#name}.${++this.#idLast}`;
    let pid = 0;
    const ended = new Promise<Ended>((resolve) => {
      pid = start(spec, launchId, (end) => {
        pid = 0;
        resolve(end);
      });
    });
    const launched = { ended, end: (graceMs: number) => endTree(pid, graceMs, launchId) };
    this.#running.add(launched);
    void ended.then(() => this.#running.delete(launched));
    return launched;
  }

  /** First what runs, then what earlier commands left behind, which only their launch ids tell. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#running, (launched) => launched.end(CLOSE_GRACE_MS)));
    if (this.#idLast > 0) await endTree(0, CLOSE_GRACE_MS, `${this.#name}.`);
    await Promise.all(Array.from(this.#running, (launched) => launched.ended));
  }
}

/** Calls `done` once. The process id, or 0 when nothing was started. */
function start(spec: LaunchSpec, launchId: string, done: (ended: Ended) => void): number {
  const refuse = (error: unknown, place: "files" | "command") => {
    for (const path of [spec.stdoutPath, spec.stderrPath]) rmSync(path, { force: true });
    done(notStarted(codeOf(error), place === "files" ? "runner" : stageOf(error, spec)));
  };
  const fds: number[] = [];
  const began = performance.now();
  try {
    openFiles(spec, fds);
  } catch (error) {
    closeAll(fds);
    refuse(error, "files");
    return 0;
  }
  try {
    const child = spawnCommand(spec, launchId, fds);
    child.once("error", (error) => refuse(error, "command"));
    child.once("exit", (exitCode, signal) => {
      done({ exitCode, signal, ...collect(spec), durationMs: performance.now() - began });
    });
    return child.pid ?? 0;
  } catch (error) {
    refuse(error, "command");
    return 0;
  } finally {
    closeAll(fds);
  }
}

/** Fills `fds` as it goes, so that those opened before a failure can be closed. */
function openFiles(spec: LaunchSpec, fds: number[]): void {
  fds.push(openOutput(spec.stdoutPath));
  fds.push(openOutput(spec.stderrPath));
  if (spec.stdin.length > 0) fds.push(openInput(spec.stdin, `${spec.stdoutPath}.stdin`));
}

function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeSync(fd);
}

function spawnCommand(spec: LaunchSpec, launchId: string, fds: readonly number[]): ChildProcess {
  const [stdout, stderr, stdin] = fds;
  const [command = "", ...args] = spec.argv;
  return spawn(command, args, {
    cwd: spec.cwd,
    env: { ...process.env, ...spec.env, [LAUNCH_ID_VARIABLE]: launchId },
    stdio: [stdin ?? "ignore", stdout, stderr],
    detached: true,
  });
}

function collect(spec: LaunchSpec): Pick<Ended, "stdout" | "stderr"> {
  return { stdout: collectOutput(spec.stdoutPath), stderr: collectOutput(spec.stderrPath) };
}

/** Node checks arguments before the system does; a NUL in one is the system's EINVAL. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "EINVAL";
  return code.startsWith("ERR_") ? "EINVAL" : code;
}

const OF_THE_MACHINE = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"]);

/** Node does not say which it was, the folder or the command. */
function stageOf(error: unknown, spec: LaunchSpec): "command" | "cwd" | "runner" {
  if (OF_THE_MACHINE.has(codeOf(error))) return "runner";
  const isFolder = statSync(spec.cwd, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? "command" : "cwd";
}
