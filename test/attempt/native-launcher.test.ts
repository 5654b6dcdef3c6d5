/** What only the native launcher promises: it outlives the runner to clean up, and the runner outlives it. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
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

  test("ends everything, even daemons, when the runner is killed with -9", async () => {
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

  test("keeps answering over a closing connection until the last command has ended", async () => {
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

  test("exits at once when nothing runs", async () => {
    const line = openLine();
    line.child.stdin.end();
    expect(await line.exitCode).toBe(0);
  });

  test("ignores the signals that a terminal sends to all its processes", async () => {
    const line = openLine();
    line.child.stdin.write(askFrame(1));
    await eventually(() => expect(line.pids.has(1)).toBe(true)); // it is up
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP"] as const)
      line.child.kill(signal);
    line.child.stdin.write(frame(2, specOf(temporaryFolder(), "exit 6")));
    await eventually(() => expect(line.ends.get(2)?.exitCode).toBe(6));
  });

  test("reads frames in pieces of any size", async () => {
    const folder = temporaryFolder();
    const line = openLine();
    const frames = Buffer.concat([1, 2, 3].map((id) => frame(id, outputsOf(folder, id, `cat; exit ${id}`))));
    for (let at = 0; at < frames.length; at += 7) {
      await new Promise((resolve) => line.child.stdin.write(frames.subarray(at, at + 7), resolve));
    }
    await eventually(() => expect(line.ends.size).toBe(3));
    expect([1, 2, 3].map((id) => line.ends.get(id)?.exitCode)).toEqual([1, 2, 3]);
  });

  test("refuses a frame that is too large and continues after it", async () => {
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

  test("refuses an invalid frame and continues after it", async () => {
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

  test("answers a request larger than a frame without sending it", async () => {
    const stdin = Buffer.alloc(FRAME_BYTES_MAX);
    const ended = await launcherOf("native").launch(specOf(temporaryFolder(), "cat", { stdin })).ended;
    expect(ended).toMatchObject({ startError: "EMSGSIZE", startStage: "command" });
  });

  test("creates no file for little output of a short command", async () => {
    const folder = temporaryFolder();
    const watching = watch(folder);
    const names: (string | null)[] = [];
    watching.on("change", (_, name) => names.push(String(name)));
    onTestFinished(() => watching.close());
    const ended = await launcherOf("native").launch(specOf(folder, "echo hi", { argv: ["echo", "hi"] }))
      .ended;
    expect(ended.stdout.inline?.toString()).toBe("hi\n");
    writeFileSync(join(folder, "last"), "");
    await eventually(() => expect(names).toContain("last"));
    expect(names).not.toContain("out");
  });

  test("writes output to files from the start when they are to be kept", async () => {
    const folder = temporaryFolder();
    const spec = specOf(folder, "cat out; echo hi", { keepFiles: true });
    const ended = await launcherOf("native").launch(spec).ended;
    expect(ended.stdout.inline?.toString()).toBe("hi\n");
    expect(readFileSync(spec.stdoutPath, "utf8")).toBe("hi\n");
  });

  test("reports whether a command wrote one of its report files", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf("native");
    const env = {
      REDRIVE_FAILURE_FILE: join(folder, "failure"),
      REDRIVE_RESULT_FILE: join(folder, "result"),
      REDRIVE_NOTES_FILE: join(folder, "notes"),
    };
    const run = async (script: string) =>
      (await launcher.launch(specOf(folder, script, { env })).ended).hasReports;
    expect(await run(":")).toBe(false);
    for (const name of Object.keys(env)) expect(await run(`echo > "$${name}"`)).toBe(true);
  });

  test("finds a command again that has moved in the PATH", async () => {
    const folder = temporaryFolder();
    for (const name of ["a", "b"]) mkdirSync(join(folder, name));
    const env = { PATH: `${join(folder, "a")}:${join(folder, "b")}:/usr/bin:/bin` };
    const tool = (name: string) => {
      writeFileSync(join(folder, name, "tool"), `#!/bin/sh\necho ${name}\n`, { mode: 0o755 });
    };
    const launcher = launcherOf("native");
    const run = async (path = env.PATH) => {
      const spec = specOf(folder, "", { argv: ["tool"], env: { PATH: path } });
      return (await launcher.launch(spec).ended).stdout.inline?.toString();
    };
    tool("a");
    expect([await run(), await run()]).toEqual(["a\n", "a\n"]);
    rmSync(join(folder, "a", "tool"));
    tool("b");
    expect([await run(), await run()]).toEqual(["b\n", "b\n"]);
    tool("a");
    expect(await run(join(folder, "a"))).toBe("a\n");
  });

  test("ends its commands when it dies and reports them as ELAUNCHER, and the next launch works", async () => {
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
