/** What both launchers promise. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Ended } from "../../src/attempt/launch.ts";
import { listProcesses } from "../../src/attempt/process-list.ts";
import {
  eventually,
  isAlive,
  KINDS,
  launcherOf,
  nodeSpec,
  pidIn,
  specOf,
  temporaryFolder,
} from "./launch-kit.ts";

const textOf = (ended: Ended) => ended.stdout.inline?.toString() ?? "";

describe.each(KINDS)("the %s launcher", (kind) => {
  test("reports the exit code, the output and how long it took", async () => {
    const folder = temporaryFolder();
    const ended = await launcherOf(kind).launch(specOf(folder, "echo out; echo err >&2; exit 7")).ended;
    expect(ended).toMatchObject({ exitCode: 7, signal: null });
    expect(ended.startError).toBeUndefined();
    expect(textOf(ended)).toBe("out\n");
    expect(ended.stderr.inline?.toString()).toBe("err\n");
    expect(ended.durationMs).toBeGreaterThan(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(["TERM", "KILL", "SEGV", "USR1"])("reports that SIG%s ended it", async (signal) => {
    const ended = await launcherOf(kind).launch(specOf(temporaryFolder(), `kill -${signal} $$`)).ended;
    expect(ended).toMatchObject({ exitCode: null, signal: `SIG${signal}` });
  });

  test("removes output files that stayed empty", async () => {
    const folder = temporaryFolder();
    const ended = await launcherOf(kind).launch(specOf(folder, ":")).ended;
    expect(ended).toMatchObject({ stdout: { bytes: 0 }, stderr: { bytes: 0 } });
    expect(ended.stdout.inline).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("names the error if the command does not exist", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const ended = await launcher.launch(specOf(folder, "", { argv: ["no-such-command-anywhere"] })).ended;
    expect(ended).toMatchObject({ exitCode: null, startError: "ENOENT", startStage: "command" });
    expect(readdirSync(folder)).toEqual([]);
    expect((await launcher.launch(specOf(folder, "exit 3")).ended).exitCode).toBe(3);
  });

  test("names the error if the command may not be run", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "plain"), "#!/bin/sh\n", { mode: 0o644 });
    const ended = await launcherOf(kind).launch(specOf(folder, "", { argv: ["./plain"] })).ended;
    expect(ended).toMatchObject({ startError: "EACCES", startStage: "command" });
  });

  test("names the error if an argument is too long for the system", async () => {
    const argv = ["true", "x".repeat(3_000_000)];
    const ended = await launcherOf(kind).launch(specOf(temporaryFolder(), "", { argv })).ended;
    expect(ended).toMatchObject({ startError: "E2BIG", startStage: "command" });
  });

  test("distinguishes a missing folder from a missing command", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const cwd = join(folder, "gone");
    expect(await launcher.launch(specOf(folder, ":", { cwd })).ended).toMatchObject({
      startError: "ENOENT",
      startStage: "cwd",
    });
    writeFileSync(cwd, "");
    expect(await launcher.launch(specOf(folder, ":", { cwd })).ended).toMatchObject({
      startError: "ENOTDIR",
      startStage: "cwd",
    });
  });

  test("blames the runner if the output files cannot be created", async () => {
    const folder = temporaryFolder();
    const stderrPath = join(folder, "gone", "err");
    const ended = await launcherOf(kind).launch(
      specOf(folder, "head -c 100000 /dev/zero >&2", { stderrPath }),
    ).ended;
    expect(ended).toMatchObject({ startError: "ENOENT", startStage: "runner" });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("refuses an argument with a NUL instead of passing a part of it", async () => {
    const argv = ["echo", "a\0b"];
    const ended = await launcherOf(kind).launch(specOf(temporaryFolder(), "", { argv })).ended;
    expect(ended).toMatchObject({ startError: "EINVAL", startStage: "command", exitCode: null });
  });

  test("runs a script without an interpreter line, as a shell's user expects", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "script"), 'echo "$1"\n', { mode: 0o755 });
    const ended = await launcherOf(kind).launch(specOf(folder, "", { argv: ["./script", "a b"] })).ended;
    expect(textOf(ended)).toBe("a b\n");
  });

  test("gives every command its own process group", async () => {
    const ended = await launcherOf(kind).launch(specOf(temporaryFolder(), "cut -d' ' -f1,5 /proc/$$/stat"))
      .ended;
    const [pid, group] = textOf(ended).trim().split(" ");
    expect(pid).toMatch(/^\d+$/);
    expect(group).toBe(pid);
  });

  test("starts it with default signals, none blocked", async () => {
    const ended = await launcherOf(kind).launch(
      specOf(temporaryFolder(), "grep -E '^Sig(Blk|Ign)' /proc/self/status"),
    ).ended;
    expect(textOf(ended)).toMatch(/^SigBlk:\s0{16}\nSigIgn:\s0{16}\n$/);
  });

  test("runs it in its folder", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "söme dir"));
    const cwd = realpathSync(join(folder, "söme dir"));
    const ended = await launcherOf(kind).launch(specOf(folder, "pwd -P", { cwd })).ended;
    expect(textOf(ended)).toBe(`${cwd}\n`);
  });

  test("adds to the runner's environment, newlines and all, and overrides it", async () => {
    const env = { GREETING: "grüß\ndich 🙂", EMPTY: "", HOME: "/nowhere" };
    const script = "process.stdout.write(JSON.stringify(process.env))";
    const ended = await launcherOf(kind).launch(nodeSpec(temporaryFolder(), script, { env })).ended;
    const seen = JSON.parse(textOf(ended));
    expect(seen).toMatchObject({ ...env, PATH: process.env.PATH });
    expect(seen.REDRIVE_LAUNCH_ID).toMatch(/^[0-9a-f]{12}-\d+-[0-9a-f]{12}\.\w+\.\d+$/);
  });

  test("searches the command in the PATH that the command gets", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "only-here"), "#!/bin/sh\necho found\n", { mode: 0o755 });
    const spec = specOf(folder, "", {
      argv: ["only-here"],
      env: { PATH: `/nowhere:${folder}:/usr/bin:/bin` },
    });
    expect(textOf(await launcherOf(kind).launch(spec).ended)).toBe("found\n");
  });

  test("passes arguments unchanged, whatever a shell would do with them", async () => {
    const words = ["$HOME", "`id`", "a b", "", '"', "'", "\n", "*", "ü🙂", "x".repeat(100_000)];
    const argv = [
      process.execPath,
      "-e",
      "process.stdout.write(JSON.stringify(process.argv.slice(1)))",
      "--",
      ...words,
    ];
    const folder = temporaryFolder();
    const spec = specOf(folder, "", { argv });
    await launcherOf(kind).launch(spec).ended;
    expect(JSON.parse(readFileSync(spec.stdoutPath, "utf8"))).toEqual(words);
  });

  test("closes stdin after the input, or at once if there is none", async () => {
    const launcher = launcherOf(kind);
    const folder = temporaryFolder();
    expect(textOf(await launcher.launch(specOf(folder, "cat", { stdin: "süß\n" })).ended)).toBe("süß\n");
    expect(textOf(await launcher.launch(specOf(folder, "cat | wc -c")).ended).trim()).toBe("0");
  });

  test.each([59_999, 60_001, 5_000_000])("feeds %i bytes of input", async (bytes) => {
    const folder = temporaryFolder();
    const stdin = Buffer.alloc(bytes, "0123456789\0ÿ", "latin1");
    const script =
      "const h = require('crypto').createHash('sha256'); process.stdin.on('data', (d) => h.update(d)).on('end', () => console.log(h.digest('hex')))";
    const ended = await launcherOf(kind).launch(nodeSpec(folder, script, { stdin })).ended;
    expect(textOf(ended).trim()).toBe(createHash("sha256").update(stdin).digest("hex"));
    expect(readdirSync(folder)).toEqual([]);
  });

  test("accepts a command that does not read its input", async () => {
    const ended = await launcherOf(kind).launch(
      specOf(temporaryFolder(), "exit 0", { stdin: "x".repeat(1_000_000) }),
    ).ended;
    expect(ended.exitCode).toBe(0);
  });

  test("keeps every byte of binary output", async () => {
    const script = "process.stdout.write(Buffer.from(Array.from({ length: 8192 }, (_, i) => i % 256)))";
    const ended = await launcherOf(kind).launch(nodeSpec(temporaryFolder(), script)).ended;
    expect(ended.stdout.bytes).toBe(8192);
    expect([...(ended.stdout.inline ?? [])]).toEqual(Array.from({ length: 8192 }, (_, i) => i % 256));
  });

  test("leaves larger output in its file", async () => {
    const folder = temporaryFolder();
    const spec = specOf(folder, "head -c 8193 /dev/zero; head -c 100000 /dev/zero >&2");
    const ended = await launcherOf(kind).launch(spec).ended;
    expect(ended).toMatchObject({ stdout: { bytes: 8193 }, stderr: { bytes: 100_000 } });
    expect(ended.stdout.inline).toBeUndefined();
    expect(statSync(spec.stdoutPath).size).toBe(8193);
    expect(statSync(spec.stderrPath).size).toBe(100_000);
  });

  test("shows output in its file while the command runs on", async () => {
    const folder = temporaryFolder();
    const spec = specOf(
      folder,
      "echo early; while [ ! -e go ]; do sleep 0.01; done; echo late; echo bad >&2",
    );
    const { ended } = launcherOf(kind).launch(spec);
    await eventually(() => expect(readFileSync(spec.stdoutPath, "utf8")).toBe("early\n"));
    writeFileSync(join(folder, "go"), "");
    expect(textOf(await ended)).toBe("early\nlate\n");
    expect((await ended).stderr.inline?.toString()).toBe("bad\n");
    expect(existsSync(spec.stdoutPath)).toBe(false);
  });

  test("keeps the output of a command that is killed", async () => {
    const spec = specOf(temporaryFolder(), "head -c 100000 /dev/zero; echo bad >&2; kill -9 $$");
    const ended = await launcherOf(kind).launch(spec).ended;
    expect(ended).toMatchObject({ signal: "SIGKILL", stdout: { bytes: 100_000 }, stderr: { bytes: 4 } });
  });

  test("takes 100 MB on one line", async () => {
    const folder = temporaryFolder();
    const spec = specOf(folder, "head -c 104857600 /dev/zero | tr '\\0' x");
    const ended = await launcherOf(kind).launch(spec).ended;
    expect(ended).toMatchObject({ exitCode: 0, stdout: { bytes: 104_857_600 } });
    expect(statSync(spec.stdoutPath).size).toBe(104_857_600);
  });

  test("keeps 50 concurrent launches apart", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const launches = Array.from({ length: 50 }, (_, n) =>
      launcher.launch(
        specOf(folder, `cat; exit ${n}`, {
          stdin: `item ${n}`,
          stdoutPath: join(folder, `${n}.out`),
          stderrPath: join(folder, `${n}.err`),
        }),
      ),
    );
    const ends = await Promise.all(launches.map((launch) => launch.ended));
    expect(ends.map((ended) => [ended.exitCode, textOf(ended)])).toEqual(
      Array.from({ length: 50 }, (_, n) => [n, `item ${n}`]),
    );
  });

  test("starts with an empty file, whatever was left at the path", async () => {
    const folder = temporaryFolder();
    const spec = specOf(folder, "echo new");
    writeFileSync(spec.stdoutPath, "old\n");
    writeFileSync(spec.stderrPath, "old\n");
    const ended = await launcherOf(kind).launch(spec).ended;
    expect(textOf(ended)).toBe("new\n");
    expect(ended.stderr.bytes).toBe(0);
  });

  test("end() lets a command that handles TERM end in its own way", async () => {
    const folder = temporaryFolder();
    const launched = launcherOf(kind).launch(
      specOf(folder, "trap 'echo bye; exit 9' TERM; echo $$ > pid; while :; do sleep 0.01; done"),
    );
    const pid = await pidIn(join(folder, "pid"));
    await launched.end(20_000);
    expect(isAlive(pid)).toBe(false);
    const ended = await launched.ended;
    expect(ended.exitCode).toBe(9);
    expect(textOf(ended)).toBe("bye\n");
  });

  test("end() kills grandchildren that ignore TERM", async () => {
    const folder = temporaryFolder();
    const stubborn = "trap '' TERM; echo $$ > grandchild; while :; do sleep 0.05; done";
    const launched = launcherOf(kind).launch(
      specOf(folder, `sh -c "${stubborn.replaceAll("$", "\\$")}" & wait`),
    );
    const pid = await pidIn(join(folder, "grandchild"));
    await launched.end(100);
    expect(isAlive(pid)).toBe(false);
    expect((await launched.ended).signal).toBe("SIGTERM");
  });

  test("end() finds daemons that left their session and their parents", async () => {
    const folder = temporaryFolder();
    const daemon = "trap '' TERM; echo $$ > daemon; while :; do sleep 0.05; done";
    writeFileSync(join(folder, "daemon.sh"), daemon);
    const launched = launcherOf(kind).launch(
      specOf(folder, "(setsid sh daemon.sh &) ; while :; do sleep 0.05; done"),
    );
    const pid = await pidIn(join(folder, "daemon"));
    await launched.end(100);
    expect(isAlive(pid)).toBe(false);
  });

  test("end() after the end also ends what the command left running", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "daemon.sh"), "echo $$ > daemon; exec sleep 1000");
    const launched = launcherOf(kind).launch(specOf(folder, "setsid sh daemon.sh & exit 0"));
    const pid = await pidIn(join(folder, "daemon"));
    expect((await launched.ended).exitCode).toBe(0);
    expect(isAlive(pid)).toBe(true);
    await launched.end(5000);
    expect(isAlive(pid)).toBe(false);
  });

  test("end() wakes a stopped process so that it can handle TERM", async () => {
    const folder = temporaryFolder();
    const launched = launcherOf(kind).launch(
      specOf(folder, "trap 'exit 4' TERM; echo $$ > pid; kill -STOP $$; sleep 1000"),
    );
    await pidIn(join(folder, "pid"));
    await launched.end(20_000);
    expect((await launched.ended).exitCode).toBe(4);
  });

  test("end() of one launch does not affect the others", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const one = launcher.launch(specOf(folder, "echo $$ > one; exec sleep 1000"));
    const paths = { stdoutPath: join(folder, "out2"), stderrPath: join(folder, "err2") };
    const two = launcher.launch(specOf(folder, "echo $$ > two; exec sleep 1000", paths));
    await pidIn(join(folder, "one"));
    const other = await pidIn(join(folder, "two"));
    await one.end(5000);
    expect(isAlive(other)).toBe(true);
    await two.end(5000);
  });

  test("a late grandchild can still write, but not into the next launch's output", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const late = "(while [ ! -e go ]; do sleep 0.01; done; echo late && echo late >&2 && echo > done) &";
    await launcher.launch(specOf(folder, late)).ended;
    const next = launcher.launch(
      specOf(folder, "echo > go; while [ ! -e done ]; do sleep 0.01; done; echo mine"),
    );
    const ended = await next.ended;
    expect(textOf(ended)).toBe("mine\n");
    expect(ended.stderr.bytes).toBe(0);
  });

  test("close() ends what is still running", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const launched = launcher.launch(specOf(folder, "echo $$ > pid; exec sleep 1000"));
    const pid = await pidIn(join(folder, "pid"));
    await launcher.close();
    expect(isAlive(pid)).toBe(false);
    expect((await launched.ended).signal).toBe("SIGTERM");
  });

  test("leaves no file open", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const round = (count: number) =>
      Promise.all(
        Array.from(
          { length: count },
          (_, n) =>
            launcher.launch(
              specOf(folder, "", {
                argv: n % 10 === 0 ? ["no-such-command-anywhere"] : ["cat"],
                stdin: "x",
                stdoutPath: join(folder, `${n}.out`),
                stderrPath: join(folder, `${n}.err`),
              }),
            ).ended,
        ),
      );
    await round(5);
    const before = openFiles();
    for (let done = 0; done < 500; done += 50) await round(50);
    expect(openFiles()).toBe(before);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("passes no descriptor of ours to a command", async () => {
    const folder = temporaryFolder();
    const launcher = launcherOf(kind);
    const holder = launcher.launch(specOf(folder, "echo > holds; sleep 1000"));
    await eventually(() => expect(existsSync(join(folder, "holds"))).toBe(true));
    const paths = { stdoutPath: join(folder, "out2"), stderrPath: join(folder, "err2") };
    const ended = await launcher.launch(specOf(folder, "", { argv: ["ls", "/proc/self/fd"], ...paths }))
      .ended;
    // What the test itself inherited passes through, as it does from any parent.
    expect(textOf(ended)).toBe(execFileSync("ls", ["/proc/self/fd"], { encoding: "utf8" }));
    await holder.end(1000);
  });
});

/** Of this process and of its children, one of which is the native launcher. */
function openFiles(): number {
  const ours = listProcesses().filter(({ pid, parent }) => pid === process.pid || parent === process.pid);
  return ours.reduce((sum, { pid }) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
}
