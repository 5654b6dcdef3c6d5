/** Commands that wait in the native launcher: how many run, what is recorded before they start, and what never starts. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { LaunchSpec, QueuedLaunch } from "../../src/attempt/launch.ts";
import { findLauncherBinary } from "../../src/attempt/launcher.ts";
import { launchFrame, marksFrame } from "../../src/attempt/native-launcher.ts";
import { listProcesses } from "../../src/attempt/process-list.ts";
import { createStartMarks, readStartMarks } from "../../src/lease/start-marks.ts";
import { eventually, isAlive, KINDS, launcherOf, pidIn, specOf, temporaryFolder } from "./launch-kit.ts";

const HOLDER = "machine:1:abc";
const NEXT_HOLDER = "machine:1:def";
const HOUR_MS = 3_600_000;

describe.runIf(KINDS.includes("native") && process.platform === "linux")("queued commands", () => {
  test("start in order, never more than the limit at once", async () => {
    const { launcher, folder, started } = open();
    const script = "mkdir room.$$ && ls -d room.* | wc -l >> counts; sleep 0.05; rmdir room.$$";
    const launches = [1, 2, 3, 4, 5, 6].map((n) => launcher.launch(queued(folder, n, script, { limit: 2 })));
    const ends = await Promise.all(launches.map(({ ended }) => ended));
    expect(ends.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(started).toEqual([1, 2, 3, 4, 5, 6]);
    const counts = readFileSync(join(folder, "counts"), "utf8").trim().split("\n").map(Number);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
  });

  test("are marked before they start, and not while they wait", async () => {
    const { launcher, folder, marks } = open();
    const running = launcher.launch(queued(folder, 1, `cat ${marks} > seen; ${untilFile("go")}`));
    const waiting = launcher.launch(queued(folder, 2, ":"));
    await eventually(() => expect(readFileSync(join(folder, "seen")).length).toBeGreaterThan(0));
    const seen = createSeen(folder);
    expect([seen({ ref: 1, attempt: 7 }), seen({ ref: 2, attempt: 7 })]).toEqual([{}, undefined]);
    writeFileSync(join(folder, "go"), "");
    await Promise.all([running.ended, waiting.ended]);
    expect(readStartMarks(folder, HOLDER)?.({ ref: 2, attempt: 7 })).toBeDefined();
    expect(readStartMarks(folder, HOLDER)?.({ ref: 2, attempt: 8 })).toBeUndefined();
  });

  test("are marked with their end before it is reported", async () => {
    const { launcher, folder } = open();
    const scripts = [":", "echo out", "exit 3", "echo err >&2; exit 255", "kill -9 $$", "echo > report"];
    const env = { REDRIVE_RESULT_FILE: join(folder, "report") };
    for (const [n, script] of scripts.entries())
      await launcher.launch({ ...queued(folder, n, script), ...(n === 5 && { env }) }).ended;
    const marks = readStartMarks(folder, HOLDER);
    expect(scripts.map((_, ref) => marks?.({ ref, attempt: 7 })?.end)).toEqual([
      { exitCode: 0, hasOutput: false },
      { exitCode: 0, hasOutput: true },
      { exitCode: 3, hasOutput: false },
      { exitCode: 255, hasOutput: true },
      { signal: 9, hasOutput: false },
      { exitCode: 0, hasOutput: true },
    ]);
  });

  test("have no end in their marks when the runner has ended them, even if they then exit with 0", async () => {
    const { launcher, folder } = open();
    const running = launcher.launch(
      queued(folder, 1, `trap 'exit 0' TERM; echo > ready; ${untilFile("never")}`),
    );
    await eventually(() => expect(existsSync(join(folder, "ready"))).toBe(true));
    await running.end(10_000);
    expect((await running.ended).exitCode).toBe(0);
    expect(readStartMarks(folder, HOLDER)?.({ ref: 1, attempt: 7 })).toEqual({});
  });

  test("leave the marks of the next holder alone when they end", async () => {
    const { launcher, folder, started } = open();
    const running = launcher.launch(queued(folder, 1, untilFile("go")));
    await eventually(() => expect(started).toEqual([1]));
    launcher.setMarksFile(createStartMarks(folder, NEXT_HOLDER, 16));
    await launcher.launch(queued(folder, 2, ":", { limit: 2 })).ended; // the new file is in use
    writeFileSync(join(folder, "go"), "");
    await running.ended;
    expect(readStartMarks(folder, HOLDER)?.({ ref: 1, attempt: 7 })).toEqual({});
    const next = readStartMarks(folder, NEXT_HOLDER);
    expect([1, 2].map((ref) => next?.({ ref, attempt: 7 })?.end?.exitCode)).toEqual([undefined, 0]);
  });

  test("end as not started when they are recalled; the one that runs is left alone", async () => {
    const { launcher, folder, started } = open();
    const running = launcher.launch(queued(folder, 1, `${untilFile("go")}; exit 3`));
    const waiting = [2, 3].map((n) => launcher.launch(queued(folder, n, "echo > ran")));
    await eventually(() => expect(started).toEqual([1]));
    launcher.recall();
    const ends = await Promise.all(waiting.map(({ ended }) => ended));
    for (const end of ends) expect(end).toMatchObject({ startError: "ECANCELED", startStage: "runner" });
    const next = launcher.launch(queued(folder, 4, "exit 4"));
    writeFileSync(join(folder, "go"), "");
    expect((await running.ended).exitCode).toBe(3);
    expect((await next.ended).exitCode).toBe(4);
    expect(started).toEqual([1, 4]);
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test("end as not started when they are ended while they wait", async () => {
    const { launcher, folder } = open();
    const running = launcher.launch(queued(folder, 1, untilFile("go")));
    const waiting = launcher.launch(queued(folder, 2, "echo > ran"));
    await waiting.end(0);
    expect(await waiting.ended).toMatchObject({ startError: "ECANCELED" });
    await running.end(0);
    expect((await running.ended).signal).toBe("SIGTERM");
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test("do not start after their time, because the lease may have expired", async () => {
    const { launcher, folder } = open();
    const late = launcher.launch(queued(folder, 1, "echo > ran", { startWithinMs: 0 }));
    expect(await late.ended).toMatchObject({ startError: "ESTALE", startStage: "runner" });
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test("do not start when their start cannot be marked", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf("native");
    launcher.setMarksFile(join(folder, "missing"));
    expect(await launcher.launch(queued(folder, 1, ":")).ended).toMatchObject({
      startError: "ENOENT",
      startStage: "runner",
    });
  });

  test("start in the next launcher process after the first was killed", async () => {
    const { launcher, folder } = open();
    const before = new Set(listProcesses().map(({ pid }) => pid));
    await launcher.launch(queued(folder, 1, ":")).ended;
    const own = listProcesses().find(({ parent, pid }) => parent === process.pid && !before.has(pid));
    const running = launcher.launch(queued(folder, 2, `echo $$ > pid; ${untilFile("go")}`));
    const waiting = launcher.launch(queued(folder, 3, "echo > ran"));
    await pidIn(join(folder, "pid"));
    process.kill(own?.pid ?? 0, "SIGKILL");
    for (const { ended } of [running, waiting])
      expect(await ended).toMatchObject({ startError: "ELAUNCHER", startStage: "runner" });
    expect(existsSync(join(folder, "ran"))).toBe(false);
    expect((await launcher.launch(queued(folder, 4, "exit 4")).ended).exitCode).toBe(4);
    expect(readStartMarks(folder, HOLDER)?.({ ref: 4, attempt: 7 })).toBeDefined();
  });

  test("never start after the runner was killed with -9", async () => {
    const folder = temporaryFolder();
    const marks = createStartMarks(folder, HOLDER, 16);
    // The first ends when it is told to by the launcher's end, which leaves room for the second.
    const frames = [
      marksFrame(marks),
      frame(1, queued(folder, 1, "trap 'exit 0' TERM; echo $$ > pid; while :; do sleep 0.05; done")),
      frame(2, queued(folder, 2, "echo > ran")),
    ];
    const runner = spawn(process.execPath, [
      "-e",
      RUNNER,
      binary(),
      Buffer.concat(frames).toString("base64"),
    ]);
    const pid = await pidIn(join(folder, "pid"));
    const launcher = listProcesses().find(({ parent }) => parent === runner.pid)?.pid ?? 0;
    runner.kill("SIGKILL");
    await eventually(() => expect([launcher, pid].filter(isAlive)).toEqual([]));
    expect(existsSync(join(folder, "ran"))).toBe(false);
    const markOf = readStartMarks(folder, HOLDER);
    expect([1, 2].map((ref) => markOf?.({ ref, attempt: 7 }))).toEqual([{}, undefined]);
  });
});

/** A runner that hands frames to a launcher and then hangs. */
const RUNNER = `
  const launcher = require("child_process").spawn(process.argv[1], [], { stdio: ["pipe", "pipe", "inherit"], detached: true });
  launcher.stdin.write(Buffer.from(process.argv[2], "base64"));
  setInterval(() => {}, 1000);
`;

const startedBy = new Map<string, number[]>();

function open() {
  const folder = temporaryFolder();
  const started: number[] = [];
  startedBy.set(folder, started);
  const launcher = launcherOf("native");
  const marks = createStartMarks(folder, HOLDER, 16);
  launcher.setMarksFile(marks);
  return { folder, launcher, started, marks };
}

/** The seventh attempt of the item `n`, with output files and a mark of its own. */
function queued(folder: string, n: number, script: string, change: Partial<QueuedLaunch> = {}): LaunchSpec {
  return specOf(folder, script, {
    stdoutPath: join(folder, `${n}.out`),
    stderrPath: join(folder, `${n}.err`),
    queued: {
      ...{ limit: 1, mark: n, ref: n, attempt: 7, startWithinMs: HOUR_MS },
      onStarted: () => startedBy.get(folder)?.push(n),
      ...change,
    },
  });
}

/** What the marks file said when a command copied it to `seen`. */
function createSeen(folder: string) {
  const copy = temporaryFolder();
  const path = createStartMarks(copy, HOLDER, 1);
  writeFileSync(path, readFileSync(join(folder, "seen")));
  const read = readStartMarks(dirname(path), HOLDER);
  return (lease: { ref: number; attempt: number }) => read?.(lease);
}

function untilFile(name: string): string {
  return `while [ ! -e ${name} ]; do sleep 0.01; done`;
}

function frame(id: number, spec: LaunchSpec): Buffer {
  return launchFrame(id, `test.${id}`, spec) ?? Buffer.alloc(0);
}

function binary(): string {
  return findLauncherBinary() ?? "";
}
