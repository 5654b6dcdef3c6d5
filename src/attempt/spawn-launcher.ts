/** The launcher without a binary: Node starts each command in its own session, which takes half a millisecond. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import {
  type Captured,
  CLOSE_GRACE_MS,
  type Ended,
  INLINE_BYTES_MAX,
  LAUNCH_ID_VARIABLE,
  type Launched,
  type Launcher,
  type LaunchSpec,
  notStarted,
} from "./launch.ts";
import { endTree, newLauncherName } from "./process-tree.ts";

export function openSpawnLauncher(): Launcher {
  return new SpawnLauncher();
}

class SpawnLauncher implements Launcher {
  readonly kind = "spawn";
  readonly #name = newLauncherName();
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

  /** Ends running commands, then processes left by earlier ones, which are found by launch id. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#running, (launched) => launched.end(CLOSE_GRACE_MS)));
    if (this.#idLast > 0) await endTree(0, CLOSE_GRACE_MS, `${this.#name}.`);
    await Promise.all(Array.from(this.#running, (launched) => launched.ended));
  }
}

/** Calls `done` once. Returns the process id, or 0 when nothing was started. */
function start(spec: LaunchSpec, launchId: string, done: (ended: Ended) => void): number {
  const refuse = (error: unknown, stage: "files" | "command") => {
    for (const path of [spec.stdoutPath, spec.stderrPath]) rmSync(path, { force: true });
    done(notStarted(codeOf(error), stage === "files" ? "runner" : stageOf(error, spec)));
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

/** Appends to `fds` one by one, so that the caller can close them after a failure. */
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

/** Node checks arguments itself and reports its own codes. The system would report EINVAL, e.g. for a NUL. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "EINVAL";
  return code.startsWith("ERR_") ? "EINVAL" : code;
}

const RESOURCE_ERRORS = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"]);

/** Node does not report whether the folder or the command is missing, so the folder is checked. */
function stageOf(error: unknown, spec: LaunchSpec): "command" | "cwd" | "runner" {
  if (RESOURCE_ERRORS.has(codeOf(error))) return "runner";
  const isFolder = statSync(spec.cwd, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? "command" : "cwd";
}

/** Unlinks a file of an earlier launch instead of truncating it, because a surviving process may still write to it. */
function openOutput(path: string): number {
  rmSync(path, { force: true });
  return openSync(path, "ax", 0o600);
}

/** Returns an unlinked file with the input. Unlike a socket, it can be opened as /dev/stdin. */
function openInput(stdin: string | Uint8Array, path: string): number {
  rmSync(path, { force: true });
  try {
    writeFileSync(path, stdin, { mode: 0o600, flag: "wx" });
    return openSync(path, "r");
  } finally {
    rmSync(path, { force: true });
  }
}

/** Reads small output into memory and removes its file; large output stays in its file. */
function collectOutput(path: string): Captured {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > INLINE_BYTES_MAX) return { bytes };
  const inline = bytes > 0 ? readFrom(path, bytes) : undefined;
  rmSync(path, { force: true });
  return inline ? { bytes: inline.length, inline } : { bytes: 0 };
}

/** Reads no more than the known size, because a surviving process may append more. */
function readFrom(path: string, bytes: number): Buffer {
  const fd = openSync(path, "r");
  try {
    const content = Buffer.alloc(bytes);
    return content.subarray(0, readSync(fd, content, 0, bytes, 0));
  } finally {
    closeSync(fd);
  }
}
