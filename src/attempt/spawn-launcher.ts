/** The launcher without a binary: Node starts each command in its own session, which takes half a millisecond. */
import { spawn } from "node:child_process";
import { closeSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { codeOf } from "../std/thrown.ts";
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
  type StartStage,
} from "./launch.ts";
import { readRange } from "./output.ts";
import { endTree, newLauncherName } from "./process-tree.ts";

export function openSpawnLauncher(): Launcher {
  const name = newLauncherName();
  const running = new Set<Launched>();
  let idLast = 0;
  return {
    kind: "spawn",
    canQueue: false,
    setMarksFile: () => undefined,
    recall: () => undefined,
    launch(spec) {
      const launchId = `${name}.${++idLast}`;
      let pid = 0;
      const ended = new Promise<Ended>((resolve) => {
        pid = start(spec, launchId, (end) => {
          pid = 0;
          resolve(end);
        });
      });
      const launched = { ended, end: (graceMs: number) => endTree(pid, graceMs, launchId) };
      running.add(launched);
      void ended.then(() => running.delete(launched));
      return launched;
    },
    /** Ends running commands, then processes left by earlier ones, which are found by launch id. */
    async close() {
      await Promise.all(Array.from(running, (launched) => launched.end(CLOSE_GRACE_MS)));
      if (idLast > 0) await endTree(0, CLOSE_GRACE_MS, `${name}.`);
      await Promise.all(Array.from(running, (launched) => launched.ended));
    },
  };
}

/** Calls `done` once. Returns the process id, or 0 when nothing was started. */
function start(spec: LaunchSpec, launchId: string, done: (ended: Ended) => void): number {
  const { argv, cwd, stdoutPath, stderrPath, stdin } = spec;
  const fds: number[] = [];
  const refuse = (error: unknown, stage: StartStage = stageOf(error, cwd)) => {
    for (const path of [stdoutPath, stderrPath]) rmSync(path, { force: true });
    done(notStarted(errnoOf(error), stage));
  };
  const began = performance.now();
  let isOpen = false;
  try {
    for (const path of [stdoutPath, stderrPath]) fds.push(openOutput(path));
    if (stdin.length > 0) fds.push(openInput(stdin, `${stdoutPath}.stdin`));
    isOpen = true;
    const [out, err, input] = fds;
    const [command = "", ...args] = argv;
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...spec.env, [LAUNCH_ID_VARIABLE]: launchId },
      stdio: [input ?? "ignore", out, err],
      detached: true,
    });
    child.once("error", (error) => refuse(error));
    child.once("exit", (exitCode, signal) => {
      const [stdout, stderr] = [collectOutput(stdoutPath, spec), collectOutput(stderrPath, spec)];
      done({ exitCode, signal, stdout, stderr, durationMs: performance.now() - began });
    });
    return child.pid ?? 0;
  } catch (error) {
    refuse(error, isOpen ? undefined : "runner");
    return 0;
  } finally {
    for (const fd of fds) closeSync(fd);
  }
}

/** Node checks arguments itself and reports its own codes. The system would report EINVAL, e.g. for a NUL. */
function errnoOf(error: unknown): string {
  const code = codeOf(error) ?? "EINVAL";
  return code.startsWith("ERR_") ? "EINVAL" : code;
}

const RESOURCE_ERRORS = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"]);

/** Node does not report whether the folder or the command is missing, so the folder is checked. */
function stageOf(error: unknown, cwd: string): StartStage {
  if (RESOURCE_ERRORS.has(errnoOf(error))) return "runner";
  return statSync(cwd, { throwIfNoEntry: false })?.isDirectory() ? "command" : "cwd";
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
function collectOutput(path: string, { keepFiles }: LaunchSpec): Captured {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > INLINE_BYTES_MAX) return { bytes };
  const inline = bytes > 0 ? readRange(path, 0, bytes) : undefined; // not more: a surviving process may append to the file
  if (!keepFiles) rmSync(path, { force: true });
  return inline ? { bytes: inline.length, inline } : { bytes: 0 };
}
