import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { listProcesses, parsePs } from "../../src/attempt/process-list.ts";
import { endTree } from "../../src/attempt/process-tree.ts";
import { isAlive } from "./launch-kit.ts";

test("an unrelated process with the id of an ended command is not ended", async () => {
  const stranger = await sleeper({});
  await endTree(0, 0, "some.1");
  await endTree(1, 0);
  await endTree(-1, 0);
  expect(isAlive(stranger)).toBe(true);
});

test("a launch id ends its own processes only, not those whose id has the same prefix", async () => {
  const mine = await sleeper({ REDRIVE_LAUNCH_ID: "tree-test.1" });
  const alike = await sleeper({ REDRIVE_LAUNCH_ID: "tree-test.12" });
  await endTree(0, 5000, "tree-test.1");
  expect([isAlive(mine), isAlive(alike)]).toEqual([false, true]);
  await endTree(0, 5000, "tree-test.");
  expect(isAlive(alike)).toBe(false);
});

test("a process id that no longer exists has already ended", async () => {
  const pid = await sleeper({});
  await endTree(pid, 5000);
  expect(isAlive(pid)).toBe(false);
  await endTree(pid, 5000);
});

test("our own process is listed with its parent and group, and never ended by its own launch id", async () => {
  const own = listProcesses().find((entry) => entry.pid === process.pid);
  expect(own?.parent).toBe(process.ppid);
  expect(own?.hasLaunchId("no-such-launch.1")).toBe(false);
});

test("the table of ps is read with environments and without zombies", () => {
  const entries = parsePs(
    [
      "    1     0     1 Ss   /sbin/launchd",
      "  200     1   200 S+   sleep 10 HOME=/Users/me REDRIVE_LAUNCH_ID=abc.7 TERM=x",
      "  201   200   200 Z    (sleep)",
      "  202   200   202 S    sh",
      "",
    ].join("\n"),
  );
  expect(entries.map(({ pid, parent, group }) => [pid, parent, group])).toEqual([
    [1, 0, 1],
    [200, 1, 200],
    [202, 200, 202],
  ]);
  expect(entries.map((entry) => entry.hasLaunchId("abc.7"))).toEqual([false, true, false]);
  expect(entries[1]?.hasLaunchId("abc.")).toBe(true);
  expect(entries[1]?.hasLaunchId("abc.77")).toBe(false);
});

/** A process in a group of its own, running when its number is returned. */
async function sleeper(env: Record<string, string>): Promise<number> {
  const child = spawn("sh", ["-c", "echo up; exec sleep 1000"], {
    detached: true,
    env: { ...process.env, ...env },
  });
  const exited = once(child, "exit");
  await once(child.stdout, "data");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return child.pid ?? 0;
}
