/** When the launcher process dies, its runner has to end what earlier commands left behind as well. */
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listProcesses } from "../../src/attempt/process-list.ts";
import { eventually, isAlive, KINDS, launcherOf, pidIn, specOf, temporaryFolder } from "./launch-kit.ts";

describe.runIf(KINDS.includes("native"))("a launcher that was killed", () => {
  test.each([
    ["while nothing ran", "true"],
    ["while a command ran", "sleep 60"],
  ])("%s leaves no daemon of a command that has ended", async (_when, last) => {
    const folder = temporaryFolder();
    const launcher = launcherOf("native");
    const before = new Set(childPids());
    await launcher.launch(specOf(folder, "setsid sh -c 'echo $$ > daemon; exec sleep 60' &")).ended;
    const daemon = await pidIn(join(folder, "daemon"));
    onTestFinished(() => {
      if (isAlive(daemon)) process.kill(daemon, "SIGKILL");
    });
    const [pid = 0] = childPids().filter((child) => !before.has(child));
    expect(pid).toBeGreaterThan(1);
    const running = launcher.launch(specOf(folder, last)).ended;
    if (last === "true") await running;
    expect(isAlive(daemon)).toBe(true);
    process.kill(pid, "SIGKILL");
    await eventually(() => expect(isAlive(pid)).toBe(false));
    await running;
    await launcher.close();
    expect(isAlive(daemon)).toBe(false);
  });
});

function childPids(): number[] {
  return listProcesses()
    .filter(({ parent }) => parent === process.pid)
    .map(({ pid }) => pid);
}
