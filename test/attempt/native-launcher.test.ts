/** What only the native launcher promises: it outlives the runner to clean up, and the runner outlives it. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Ended, LaunchSpec } from "../../src/attempt/launch.ts";
import { findLauncherBinary, runsHere } from "../../src/attempt/launcher.ts";
import { askFrame, FRAME_BYTES_MAX, launchFrame, ReplyReader } from "../../src/attempt/native-launcher.ts";
import { listProcesses } from "../../src/attempt/process-list.ts";
import { eventually, isAlive, KINDS, launcherOf, pidIn, specOf, temporaryFolder } from "./launch-kit.ts";

describe.runIf(KINDS.includes("native"))("the native launcher", () => {
  test("its binary is found from the source and runs", () => {
    expect(runsHere(binary())).toBe(true);
    expect(findLauncherBinary("file:///nowhere/at/all/module.js")).toBeUndefined();
    expect(runsHere("/bin/true")).toBe(false);
    expect(runsHere("/nowhere/redrive-launcher")).toBe(false);
  });

  test("ends everything, daemons too, when the runner is killed with -9", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "daemon.sh"), "trap '' TERM; echo $$ > daemon; while :; do sleep 0.05; done");
    const spec = specOf(
      folder,
      "(setsid env -i sh daemon.sh &); echo $$ > child; while :; do sleep 0.05; done",
    );
    const runner = spawn(process.execPath, ["-e", RUNNER, binary(), frame(1, spec).toString("base64")]);
    const pids = [await pidIn(join(folder, "child")), await pidIn(join(folder, "daemon"))];
    const launcher = listProcesses().find((entry) => entry.parent === runner.pid)?.pid ?? 0;
    expect(launcher).toBeGreaterThan(1);
    runner.kill("SIGKILL");
    await eventually(() => expect([launcher, ...pids].filter(isAlive)).toEqual([]));
  });

  test("answers over a closing line until the last command has ended", async () => {
    const folder = temporaryFolder();
    const line = openLine();
    line.child.stdin.write(
      frame(1, specOf(folder, "trap 'echo bye; exit 5' TERM; echo > up; while :; do sleep 0.01; done")),
    );
    await eventually(() => expect(existsSync(join(folder, "up"))).toBe(true));
    line.child.stdin.end();
    expect(await line.exitCode).toBe(0);
    expect(line.ends.get(1)).toMatchObject({ exitCode: 5, stdout: { inline: Buffer.from("bye\n") } });
  });

  test("leaves at once when nothing runs", async () => {
    const line = openLine();
    line.child.stdin.end();
    expect(await line.exitCode).toBe(0);
  });

  test("ignores the signals that a terminal sends to everybody", async () => {
    const line = openLine();
    line.child.stdin.write(askFrame(1));
    await eventually(() => expect(line.pids.has(1)).toBe(true)); // it is up
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP"] as const)
      line.child.kill(signal);
    line.child.stdin.write(frame(2, specOf(temporaryFolder(), "exit 6")));
    await eventually(() => expect(line.ends.get(2)?.exitCode).toBe(6));
  });

  test("takes frames in pieces of any size", async () => {
    const folder = temporaryFolder();
    const line = openLine();
    const frames = Buffer.concat([1, 2, 3].map((id) => frame(id, outputsOf(folder, id, `cat; exit ${id}`))));
    for (let at = 0; at < frames.length; at += 7) {
      await new Promise((resolve) => line.child.stdin.write(frames.subarray(at, at + 7), resolve));
    }
    await eventually(() => expect(line.ends.size).toBe(3));
    expect([1, 2, 3].map((id) => line.ends.get(id)?.exitCode)).toEqual([1, 2, 3]);
  });

  test("refuses a frame that is too large and goes on after it", async () => {
    const folder = temporaryFolder();
    const line = openLine();
    const header = Buffer.alloc(9);
    header.writeUInt32LE(FRAME_BYTES_MAX + 100, 0);
    header[4] = 1;
    header.writeUInt32LE(77, 5);
    line.child.stdin.write(header);
    line.child.stdin.write(Buffer.alloc(FRAME_BYTES_MAX + 95));
    line.child.stdin.write(frame(78, specOf(folder, "exit 8")));
    await eventually(() => expect(line.ends.get(78)?.exitCode).toBe(8));
    expect(line.ends.get(77)).toMatchObject({ startError: "EMSGSIZE", startStage: "command" });
  });

  test("refuses a frame that makes no sense and goes on after it", async () => {
    const line = openLine();
    const broken = frame(1, specOf(temporaryFolder(), ":"));
    broken.writeUInt32LE(0x7fffffff, 18); // more text than the frame holds
    line.child.stdin.write(broken);
    line.child.stdin.write(frame(2, specOf(temporaryFolder(), "exit 2")));
    await eventually(() => expect(line.ends.get(2)?.exitCode).toBe(2));
    expect(line.ends.get(1)).toMatchObject({ startError: "EINVAL", startStage: "command" });
  });

  test("knows the process of a launch only while it runs", async () => {
    const folder = temporaryFolder();
    const line = openLine();
    line.child.stdin.write(frame(1, specOf(folder, "echo $$ > pid; read answer", { stdin: "" })));
    line.child.stdin.write(frame(2, outputsOf(folder, 2, "echo $$ > pid; exec sleep 1000")));
    const pid = await pidIn(join(folder, "pid"));
    await eventually(() => expect(line.ends.has(1)).toBe(true));
    line.child.stdin.write(Buffer.concat([askFrame(1), askFrame(2)]));
    await eventually(() => expect(line.pids.size).toBe(2));
    expect(line.pids.get(1)).toBe(0);
    expect(isAlive(line.pids.get(2) ?? 0)).toBe(true);
    expect(pid).toBeGreaterThan(1);
  });

  test("reports a binary that this system cannot run", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "alien"), Buffer.from([0x7f, 0x45, 0, 0, 1, 2, 3]), { mode: 0o755 });
    const ended = await launcherOf("native").launch(specOf(folder, "", { argv: ["./alien"] })).ended;
    expect(ended).toMatchObject({ startError: "ENOEXEC", startStage: "command" });
  });

  test("answers for a request larger than a frame without sending it", async () => {
    const stdin = Buffer.alloc(FRAME_BYTES_MAX);
    const ended = await launcherOf("native").launch(specOf(temporaryFolder(), "cat", { stdin })).ended;
    expect(ended).toMatchObject({ startError: "EMSGSIZE", startStage: "command" });
  });

  test("keeps empty files for the next launch when asked to", async () => {
    const folder = temporaryFolder();
    const spec = specOf(folder, "exit 0", { keepEmptyFiles: true });
    const launcher = launcherOf("native");
    await launcher.launch(spec).ended;
    expect([existsSync(spec.stdoutPath), existsSync(spec.stderrPath)]).toEqual([true, true]);
    const ended = await launcher.launch({ ...spec, argv: ["echo", "hi"] }).ended;
    expect(ended.stdout.inline?.toString()).toBe("hi\n");
  });

  test("when it dies, its commands are ended and told as ELAUNCHER, and the next launch works", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf("native");
    const before = new Set(listProcesses().map((entry) => entry.pid));
    writeFileSync(join(folder, "child.sh"), "echo $$ > grandchild; while :; do sleep 0.05; done");
    const running = launcher.launch(specOf(folder, "setsid sh child.sh & echo $$ > child; wait"));
    const pids = [await pidIn(join(folder, "child")), await pidIn(join(folder, "grandchild"))];
    const own = listProcesses().find((entry) => entry.parent === process.pid && !before.has(entry.pid));
    process.kill(own?.pid ?? 0, "SIGKILL");
    expect(await running.ended).toMatchObject({
      exitCode: null,
      startError: "ELAUNCHER",
      startStage: "runner",
    });
    expect(pids.filter(isAlive)).toEqual([]);
    await running.end(0);
    expect((await launcher.launch(specOf(folder, "exit 3")).ended).exitCode).toBe(3);
  });
});

/** A runner that hands one launch to a launcher and then hangs. */
const RUNNER = `
  const launcher = require("child_process").spawn(process.argv[1], [], { stdio: ["pipe", "pipe", "inherit"], detached: true });
  launcher.stdin.write(Buffer.from(process.argv[2], "base64"));
  setInterval(() => {}, 1000);
`;

interface Line {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ends: Map<number, Ended>;
  readonly pids: Map<number, number>;
  readonly exitCode: Promise<number | null>;
}

/** The launcher itself, without our side of the protocol in between. */
function openLine(): Line {
  const child = spawn(binary(), []);
  const ends = new Map<number, Ended>();
  const pids = new Map<number, number>();
  const reader = new ReplyReader({
    ended: (id, end) => ends.set(id, end),
    asked: (id, pid) => pids.set(id, pid),
  });
  child.stdout.on("data", (chunk: Buffer) => reader.push(chunk));
  const exitCode = new Promise<number | null>((resolve) => child.once("close", resolve));
  onTestFinished(async () => {
    child.stdin.end();
    await exitCode;
  });
  return { child, ends, pids, exitCode };
}

function binary(): string {
  return findLauncherBinary() ?? "";
}

function frame(id: number, spec: LaunchSpec): Buffer {
  return launchFrame(id, `test.${id}`, spec) ?? Buffer.alloc(0);
}

function outputsOf(folder: string, id: number, script: string): LaunchSpec {
  return specOf(folder, script, {
    stdoutPath: join(folder, `${id}.out`),
    stderrPath: join(folder, `${id}.err`),
  });
}
