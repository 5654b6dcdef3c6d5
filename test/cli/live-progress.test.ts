/** The terminal output of a run that is ended, of a worker, and of an item that is retried. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, it, onTestFinished, vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { until } from "../support/until.ts";

function openTerminal() {
  const home = mkdtempSync(join(tmpdir(), "redrive-live-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const run = (argv: readonly string[], input = "") => {
    let shown = "";
    const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
    stderr.on("data", (chunk: Buffer) => {
      shown += chunk.toString();
    });
    const ended = runCli(argv, {
      version: "0",
      env: { PATH: process.env.PATH, HOME: home, REDRIVE_HOME: join(home, "redrive"), NO_COLOR: "1" },
      cwd: home,
      stdin: Object.assign(new PassThrough().end(input), { isTTY: false }),
      stdout: new PassThrough().resume(),
      stderr,
    });
    return { ended, shown: () => shown };
  };
  return { run, gate: join(home, "gate"), openGate: () => writeFileSync(join(home, "gate"), "") };
}

const CLEAR_BELOW = "\x1b[J";

/** The last line of the screen: everything after the last line break or clear code. */
function lastLine(shown: string): string {
  return shown.split("\n").at(-1)?.split(CLEAR_BELOW).at(-1) ?? "";
}

it("the second Ctrl-C removes the live lines and prints how to resume", async () => {
  const { run, gate, openGate } = openTerminal();
  const exit = vi.spyOn(process, "exit").mockImplementation((() => undefined) as never);
  onTestFinished(() => exit.mockRestore());
  const script = `trap '' TERM; while [ ! -e ${gate} ]; do sleep 0.05; done`;
  const { ended, shown } = run(["map", "--name", "n", "--grace", "60s", "--", "sh", "-c", script], "1\n");
  await until("it runs", () => shown().includes("1 running"));
  process.emit("SIGINT", "SIGINT");
  await until("it was heard", () => shown().includes("again to force"));
  process.emit("SIGINT", "SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
  expect(shown()).toMatch(/Ended\. Resume the job: redrive resume n-\w+\n$/);
  expect(lastLine(shown())).toBe("");
  openGate();
  await ended;
});

it("a worker counts its own work, not what others did before", async () => {
  const { run, gate, openGate } = openTerminal();
  const wait = (...argv: string[]) => run(argv).ended;
  await wait("queue", "create", "q");
  for (const key of ["a", "b", "c"]) await wait("queue", "add", "q", "--key", key, "--data", "{}");
  expect(await wait("worker", "--queue", "q", "--drain", "--", "true")).toBe(0);
  for (const key of ["d", "e"]) await wait("queue", "add", "q", "--key", key, "--data", "{}");
  const script = `while [ ! -e ${gate} ]; do sleep 0.05; done`;
  const { ended, shown } = run(["worker", "--queue", "q", "--drain", "-j", "1", "--", "sh", "-c", script]);
  await until("it shows its counters", () => shown().includes("0/2 done"));
  openGate();
  expect(await ended).toBe(0);
  expect(shown()).not.toContain("/5 done");
});
