/** Process ids are used again: the number of a command that has ended may be a stranger's a moment later. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { ProcessEntry } from "../../src/attempt/process-list.ts";
import { endTree } from "../../src/attempt/process-tree.ts";

const { listProcesses } = vi.hoisted(() => ({ listProcesses: vi.fn<() => ProcessEntry[]>() }));
vi.mock("../../src/attempt/process-list.ts", () => ({ listProcesses }));

const PID = 4_000_001;

test("an unrelated process that gets the id while a daemon of the command is awaited is not ended", async () => {
  const kill = vi.spyOn(process, "kill").mockReturnValue(true);
  onTestFinished(() => kill.mockRestore());
  const command = entry(PID, "first");
  const daemon = entry(PID + 1, "daemon", "launch.1");
  const stranger = entry(PID, "second");
  const looks = [[command, daemon], [daemon], [stranger, daemon], [stranger]];
  listProcesses.mockImplementation(() => looks.shift() ?? [stranger]);
  await endTree(PID, 60_000, "launch.1");
  const targets = kill.mock.calls.filter(([, signal]) => signal === "SIGTERM").map(([target]) => target);
  expect(targets).toEqual([-PID, PID + 1]);
  expect(kill.mock.calls.some(([, signal]) => signal === "SIGKILL")).toBe(false);
});

function entry(pid: number, start: string, launchId?: string): ProcessEntry {
  const hasLaunchId = (wanted: string) => wanted === launchId;
  return { pid, parent: 1, group: pid, key: `${pid}@${start}`, hasLaunchId, launchIds: () => [] };
}
